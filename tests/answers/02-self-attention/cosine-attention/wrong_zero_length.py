# message: 0 / 0 is NaN
# Division by the plain norm.
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        query = self.query(x) / self.query(x).norm(dim=-1, keepdim=True)
        key = self.key(x) / self.key(x).norm(dim=-1, keepdim=True)
        value = self.value(x)
        scores = self.scale * query @ key.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights

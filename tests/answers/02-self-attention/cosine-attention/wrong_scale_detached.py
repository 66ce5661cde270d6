# message: scale gets no gradient
# The scale is read as a plain number.
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        query = F.normalize(self.query(x), dim=-1)
        key = F.normalize(self.key(x), dim=-1)
        value = self.value(x)
        scores = self.scale.item() * query @ key.mT
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights

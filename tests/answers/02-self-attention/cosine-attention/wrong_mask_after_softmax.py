# message: mask comes after the softmax
# Weights are set to 0 after the softmax.
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
        scores = self.scale * query @ key.transpose(-2, -1)
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights * mask
        return weights @ value, weights

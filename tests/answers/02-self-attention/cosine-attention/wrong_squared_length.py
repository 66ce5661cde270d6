# message: divided by their squared lengths
# The root is forgotten.
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        query = self.query(x)
        key = self.key(x)
        value = self.value(x)
        scores = self.scale * query @ key.mT
        scores = scores / query.square().sum(-1).clamp(min=1e-12)[:, :, None]
        scores = scores / key.square().sum(-1).clamp(min=1e-12)[:, None, :]
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights

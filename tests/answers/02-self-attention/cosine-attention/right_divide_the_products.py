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
        scores = query @ key.mT
        length_q = query.norm(dim=-1).clamp(min=1e-12)
        length_k = key.norm(dim=-1).clamp(min=1e-12)
        scores = self.scale * scores / length_q[:, :, None] / length_k[:, None, :]
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ value, weights

class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.scale = nn.Parameter(torch.full((), 10.0))
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.query = nn.Linear(d_model, d_k, bias=False)

    @staticmethod
    def unit(x):
        return x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
        cosine = torch.einsum("bqf,bkf->bqk", self.unit(self.query(x)), self.unit(self.key(x)))
        weights = torch.where(mask, self.scale * cosine, -math.inf).softmax(-1)
        return torch.einsum("bqk,bkv->bqv", weights, self.value(x)), weights

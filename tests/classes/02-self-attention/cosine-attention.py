# %% mistake: normalised_over_tokens
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        q, k = F.normalize(self.query(x)), F.normalize(self.key(x))
        scores = self.scale * (q @ k.mT)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.value(x), weights


# %% mistake: normalised_over_tokens
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def unit(self, x):
        return x / x.norm(dim=-2, keepdim=True).clamp(min=1e-12)

    def forward(self, x, mask=None):
        e = torch.einsum(
            "bid,bjd->bij", self.unit(self.query(x)), self.unit(self.key(x))
        )
        e = e * self.scale
        if mask is not None:
            e = torch.where(mask, e, -math.inf)
        a = F.softmax(e, -1)
        return torch.bmm(a, self.value(x)), a


# %% mistake: normalised_over_tokens
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(10.0))
        for name, width in (("query", d_k), ("key", d_k), ("value", d_v)):
            setattr(self, name, nn.Linear(d_model, width, bias=False))

    def forward(self, x, mask=None):
        queries, keys, values = self.query(x), self.key(x), self.value(x)
        queries = queries / queries.pow(2).sum(1, keepdim=True).sqrt().clamp_min(1e-12)
        keys = keys / keys.pow(2).sum(1, keepdim=True).sqrt().clamp_min(1e-12)
        scores = self.scale * queries @ keys.transpose(1, 2)
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), -math.inf)
        weights = scores.softmax(2)
        return weights @ values, weights


# %% mistake: divided_by_the_root_too
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        q, k = F.normalize(self.query(x), dim=-1), F.normalize(self.key(x), dim=-1)
        scores = self.scale * (q @ k.mT) / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.value(x), weights


# %% mistake: divided_by_the_root_too
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))
        self.root = d_k**0.5

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        lengths = q.norm(dim=-1).clamp(min=1e-12)[:, :, None]
        others = k.norm(dim=-1).clamp(min=1e-12)[:, None, :]
        e = (
            self.scale
            * torch.bmm(q, k.transpose(1, 2))
            / (lengths * others * self.root)
        )
        if mask is not None:
            e = torch.where(mask, e, torch.full_like(e, -math.inf))
        a = F.softmax(e, dim=-1)
        return a @ v, a


# %% mistake: scale_is_no_parameter
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = torch.tensor(10.0)

    def forward(self, x, mask=None):
        q, k = F.normalize(self.query(x), dim=-1), F.normalize(self.key(x), dim=-1)
        scores = self.scale * (q @ k.mT)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ self.value(x), weights


# %% mistake: scale_is_no_parameter
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query, self.key = (nn.Linear(d_model, d_k, bias=False) for _ in range(2))
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = 10.0

    def forward(self, x, mask=None):
        unit = [F.normalize(layer(x), dim=2) for layer in (self.query, self.key)]
        e = torch.einsum("bid,bjd->bij", *unit) * self.scale
        if mask is not None:
            e = torch.where(mask, e, -math.inf)
        a = e.softmax(-1)
        return torch.einsum("bij,bjd->bid", a, self.value(x)), a

# message: first position of each piece is position 0
# Every call starts counting at position 0.
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.num_heads, -1).transpose(1, 2)

    def forward(self, x, cache=None):
        seen = 0 if cache is None else cache[0].shape[2]
        new = x.shape[1]
        if seen + new > self.max_len:
            raise ValueError(f"more than max_len = {self.max_len} tokens")
        x = x + self.positions[:new]
        query, key, value = (self.split(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
        if cache is not None:
            key = torch.cat([cache[0], key], dim=2)
            value = torch.cat([cache[1], value], dim=2)
        mask = torch.ones(new, key.shape[2], dtype=torch.bool).tril(diagonal=seen)
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
        merged = (weights @ value).transpose(1, 2).flatten(2)
        return self.out_proj(merged), (key, value)

class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        batch, new, width = x.shape
        d_head = width // self.num_heads
        if cache is None:
            empty = x.new_zeros(batch, self.num_heads, 0, d_head)
            cache = (empty, empty)
        key, value = cache
        if key.shape[2] + new > self.max_len:
            raise ValueError(f"more tokens than max_len = {self.max_len}")
        outputs = []
        for i in range(new):
            token = x[:, i] + self.positions[key.shape[2]]
            q, k, v = [
                proj(token).reshape(batch, self.num_heads, 1, d_head)
                for proj in (self.q_proj, self.k_proj, self.v_proj)
            ]
            key, value = torch.cat([key, k], dim=2), torch.cat([value, v], dim=2)
            weights = (q @ key.mT / d_head**0.5).softmax(-1)
            outputs.append(self.out_proj((weights @ value).reshape(batch, width)))
        return torch.stack(outputs, dim=1), (key, value)

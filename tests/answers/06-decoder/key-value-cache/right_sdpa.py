class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def heads(self, x):
        return torch.stack(x.chunk(self.num_heads, dim=-1), dim=1)

    def forward(self, x, cache=None):
        start = cache[0].size(2) if cache else 0
        end = start + x.size(1)
        if end > self.max_len:
            raise ValueError(f"cache: expected at most max_len={self.max_len} tokens, got {end}")
        x = x + self.positions.narrow(0, start, x.size(1))
        query, key, value = (self.heads(p(x)) for p in (self.q_proj, self.k_proj, self.v_proj))
        if cache:
            key = torch.cat((cache[0], key), 2)
            value = torch.cat((cache[1], value), 2)
        mask = torch.arange(start, end)[:, None] >= torch.arange(end)
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.out_proj(torch.cat(out.unbind(1), dim=-1)), (key, value)

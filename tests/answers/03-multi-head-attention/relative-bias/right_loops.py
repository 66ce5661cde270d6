class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.R = max_distance
        self.register_parameter("table", nn.Parameter(torch.zeros(num_heads, 2 * self.R + 1)))

    def forward(self, num_queries, num_keys, offset=0):
        rows = []
        for t in range(offset, offset + num_queries):
            columns = [self.R + max(-self.R, min(s - t, self.R)) for s in range(num_keys)]
            rows.append(self.table[:, columns])
        return torch.stack(rows, dim=1)


def biased_attention(query, key, value, bias, mask=None):
    scores = torch.einsum("bhqd,bhkd->bhqk", query, key) * query.size(-1) ** -0.5 + bias[None]
    top = scores.detach().amax(dim=-1, keepdim=True) if mask is None else (
        scores.detach().masked_fill(~mask, -1e30).amax(dim=-1, keepdim=True)
    )
    if mask is None:
        weights = torch.exp(scores - top)
    else:
        weights = torch.exp(torch.where(mask, scores - top, -math.inf))
    total = weights.sum(dim=-1, keepdim=True)
    weights = weights / torch.where(total == 0, 1.0, total)
    return torch.einsum("bhqk,bhkd->bhqd", weights, value)

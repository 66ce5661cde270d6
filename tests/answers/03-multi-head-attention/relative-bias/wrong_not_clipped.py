# message: looks outside of its table
# Distances aren't clipped.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        s = torch.arange(num_keys)[None, :]
        d = s - p
        return self.table[:, d + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores + bias
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.masked_fill(empty, 0)
    return weights @ value

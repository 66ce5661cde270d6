# message: gets equal weights
# -1e9 stands for -inf, so an empty row attends to everything.
class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.max_distance = max_distance
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_distance + 1))

    def forward(self, num_queries, num_keys, offset=0):
        p = offset + torch.arange(num_queries)[:, None]
        s = torch.arange(num_keys)[None, :]
        d = torch.clamp(s - p, -self.max_distance, self.max_distance)
        return self.table[:, d + self.max_distance]


def biased_attention(query, key, value, bias, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value

class RelativeBias(nn.Module):
    def __init__(self, num_heads, max_distance):
        super().__init__()
        self.reach = max_distance
        self.table = nn.Parameter(torch.zeros((num_heads, 2 * max_distance + 1)))

    def forward(self, num_queries, num_keys, offset=0):
        distance = torch.arange(num_keys).unsqueeze(0) - torch.arange(num_queries).unsqueeze(1)
        column = (distance - offset + self.reach).clamp(0, 2 * self.reach)
        chosen = F.one_hot(column, 2 * self.reach + 1).to(self.table.dtype)
        return torch.einsum("qkc,hc->hqk", chosen, self.table)


def biased_attention(query, key, value, bias, mask=None):
    bias = bias.expand(len(query), *bias.shape)
    if mask is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    alive = mask.any(dim=-1, keepdim=True)
    bias = torch.where(mask | ~alive, bias, -math.inf)
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias) * alive

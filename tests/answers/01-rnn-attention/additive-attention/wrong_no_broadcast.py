# message: axis of length 1
# The projections are added without new axes.
class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        from_query = self.query(query)
        from_memory = self.memory(memory)
        scores = torch.tanh(from_query + from_memory) @ self.v
        if src_mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            mask = src_mask[:, None, :]
            empty = ~mask.any(dim=-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
            weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
        return weights @ memory, weights

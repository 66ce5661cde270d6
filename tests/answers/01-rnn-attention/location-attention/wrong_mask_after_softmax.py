# message: comes after the softmax
# The weights are multiplied by the mask.
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width < 1 or width % 2 == 0:
            raise ValueError(f"width: expected an odd number of at least 1, got {width}")
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, coverage, src_mask):
        features = self.filters(coverage[:, None, :]).transpose(1, 2)
        hidden = self.query(query)[:, None, :] + self.memory(memory)
        hidden = torch.tanh(hidden + self.location(features))
        scores = hidden @ self.v
        weights = torch.softmax(scores, dim=-1) * src_mask
        context = (weights[:, None, :] @ memory)[:, 0]
        return context, weights, coverage + weights

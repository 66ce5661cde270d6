class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width <= 0 or not width % 2:
            raise ValueError("width must be odd and positive")
        self.v = nn.Parameter(torch.rand(d_attention))
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding="same", bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.query = nn.Linear(d_query, d_attention, bias=False)

    def forward(self, query, memory, coverage, src_mask):
        contexts, rows = [], []
        for b in range(len(query)):
            features = self.filters(coverage[b][None])
            scores = []
            for j in range(memory.shape[1]):
                inner = self.query(query[b]) + self.memory(memory[b, j])
                scores.append(torch.tanh(inner + self.location(features[:, j])).dot(self.v))
            scores = torch.stack(scores).masked_fill(~src_mask[b], -math.inf)
            rows.append(torch.softmax(scores, dim=0))
            contexts.append(rows[-1] @ memory[b])
        weights = torch.stack(rows)
        return torch.stack(contexts), weights, coverage + weights

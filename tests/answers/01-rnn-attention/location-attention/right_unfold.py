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
        width = self.filters.weight.shape[-1]
        windows = F.pad(coverage, (width // 2, width // 2)).unfold(1, width, 1)
        features = windows @ self.filters.weight[:, 0].T
        inner = self.location(features) + self.memory(memory) + self.query(query).unsqueeze(1)
        scores = (torch.tanh(inner) * self.v).sum(-1)
        weights = torch.where(src_mask, scores, -math.inf).softmax(-1)
        context = (weights.unsqueeze(-1) * memory).sum(1)
        return context, weights, weights + coverage

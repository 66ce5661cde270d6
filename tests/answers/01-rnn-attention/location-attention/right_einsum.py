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
        features = F.conv1d(
            coverage.unsqueeze(1), self.filters.weight, padding=self.filters.weight.shape[-1] // 2
        )
        inner = (
            torch.einsum("bd,rd->br", query, self.query.weight)[:, None]
            + torch.einsum("bsd,rd->bsr", memory, self.memory.weight)
            + torch.einsum("bks,rk->bsr", features, self.location.weight)
        )
        scores = torch.einsum("bsr,r->bs", inner.tanh(), self.v)
        weights = F.softmax(scores.masked_fill(src_mask.logical_not(), float("-inf")), dim=1)
        return torch.einsum("bs,bsd->bd", weights, memory), weights, torch.add(coverage, weights)

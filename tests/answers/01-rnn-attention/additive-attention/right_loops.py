class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        contexts, all_weights = [], []
        for b in range(query.shape[0]):
            rows = []
            keep = torch.ones(memory.shape[1], dtype=torch.bool)
            if src_mask is not None:
                keep = src_mask[b]
            for i in range(query.shape[1]):
                row = torch.zeros(memory.shape[1])
                if keep.any():
                    hidden = torch.tanh(self.query(query[b, i]) + self.memory(memory[b, keep]))
                    row = row.masked_scatter(keep, torch.softmax(hidden @ self.v, dim=0))
                rows.append(row)
            all_weights.append(torch.stack(rows))
            contexts.append(all_weights[-1] @ memory[b])
        return torch.stack(contexts), torch.stack(all_weights)

class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.v = nn.Parameter(torch.empty(d_attention).uniform_(-0.5, 0.5))
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.query = nn.Linear(d_query, d_attention, bias=False)

    def forward(self, query, memory, src_mask=None):
        if src_mask is None:
            src_mask = torch.ones(memory.shape[:2], dtype=torch.bool)
        hidden = torch.tanh(self.query(query).unsqueeze(2) + self.memory(memory).unsqueeze(1))
        scores = (hidden * self.v).sum(dim=-1)
        mask = src_mask.unsqueeze(1)
        some = mask.any(dim=-1, keepdim=True)
        weights = scores.masked_fill(~mask & some, -math.inf).softmax(dim=-1) * some
        return torch.bmm(weights, memory), weights

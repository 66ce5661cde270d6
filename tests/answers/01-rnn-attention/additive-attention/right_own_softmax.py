class AdditiveAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, src_mask=None):
        hidden = torch.tanh(self.query(query)[:, :, None] + self.memory(memory)[:, None])
        scores = torch.einsum("bqkr,r->bqk", hidden, self.v)
        powers = torch.exp(scores - scores.detach().amax(dim=-1, keepdim=True))
        if src_mask is not None:
            powers = powers * src_mask[:, None]
        weights = powers / powers.sum(dim=-1, keepdim=True).clamp(min=1e-12)
        return torch.einsum("bqk,bkd->bqd", weights, memory), weights

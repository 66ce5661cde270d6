class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def read_memory(self, memory):
        batch, size, _ = memory.shape
        key = self.k_proj(memory).view(batch, size, self.num_heads, -1)
        value = self.v_proj(memory).view(batch, size, self.num_heads, -1)
        return torch.einsum("bshd->bhsd", key), torch.einsum("bshd->bhsd", value)

    def forward(self, x, key, value, memory_mask=None):
        batch, size, width = x.shape
        key, value = key.expand(batch, -1, -1, -1), value.expand(batch, -1, -1, -1)
        query = self.q_proj(x).view(batch, size, self.num_heads, -1)
        scores = torch.einsum("bthd,bhsd->bhts", query, key) * query.shape[-1] ** -0.5
        if memory_mask is not None:
            mask = memory_mask.expand(batch, -1)[:, None, None, :]
            none = ~mask.any(-1, keepdim=True)
            scores = torch.where(mask | none, scores, -math.inf)
            weights = torch.where(none, 0.0, torch.softmax(scores, -1))
        else:
            weights = torch.softmax(scores, -1)
        heads = torch.einsum("bhts,bhsd->bthd", weights, value)
        return self.out_proj(heads.reshape(batch, size, width)), weights

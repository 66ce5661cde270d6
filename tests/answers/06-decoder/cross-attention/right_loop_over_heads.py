class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def pieces(self, x):
        return x.chunk(self.num_heads, dim=-1)

    def read_memory(self, memory):
        key, value = self.k_proj(memory), self.v_proj(memory)
        return torch.stack(self.pieces(key), dim=1), torch.stack(self.pieces(value), dim=1)

    def forward(self, x, key, value, memory_mask=None):
        outputs, all_weights = [], []
        for i, query in enumerate(self.pieces(self.q_proj(x))):
            scores = query @ key[:, i].mT / math.sqrt(query.shape[-1])
            if memory_mask is None:
                weights = scores.softmax(-1)
            else:
                mask = memory_mask[:, None, :]
                highest = scores.masked_fill(~mask, -1e30).amax(-1, keepdim=True)
                raw = torch.exp((scores - highest).masked_fill(~mask, 0.0)) * mask
                weights = raw / raw.sum(-1, keepdim=True).clamp(min=1e-30)
            outputs.append(weights @ value[:, i])
            all_weights.append(weights)
        return self.out_proj(torch.cat(outputs, dim=-1)), torch.stack(all_weights, dim=1)

# message: merged by a reshape without a transpose
# The heads are merged without a transpose.
class CrossAttention(nn.Module):
    def __init__(self, d_model, d_memory, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_memory, d_model)
        self.v_proj = nn.Linear(d_memory, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def split(self, x):
        batch, size, _ = x.shape
        return x.reshape(batch, size, self.num_heads, -1).transpose(1, 2)

    def read_memory(self, memory):
        return self.split(self.k_proj(memory)), self.split(self.v_proj(memory))

    def forward(self, x, key, value, memory_mask=None):
        query = self.split(self.q_proj(x))
        scores = query @ key.mT / math.sqrt(query.shape[-1])
        if memory_mask is not None:
            mask = memory_mask[:, None, None, :]
            empty = ~mask.any(-1, keepdim=True)
            scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
            weights = scores.softmax(dim=-1).masked_fill(empty, 0.0)
        else:
            weights = scores.softmax(dim=-1)
        heads = weights @ value
        merged = heads.reshape(x.shape)
        return self.out_proj(merged), weights

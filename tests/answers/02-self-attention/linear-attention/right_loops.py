def write_memory(key, value, valid=None):
    batch, size, d_k = key.shape
    memories, normalisers = [], []
    for b in range(batch):
        memory = torch.zeros(d_k, value.shape[-1], dtype=value.dtype)
        normaliser = torch.zeros(d_k, dtype=value.dtype)
        for j in range(size):
            if valid is None or bool(valid[b, j]):
                memory = memory + torch.outer(phi(key[b, j]), value[b, j])
                normaliser = normaliser + phi(key[b, j])
        memories.append(memory)
        normalisers.append(normaliser)
    return torch.stack(memories), torch.stack(normalisers)


def read_memory(query, memory, normaliser):
    q = phi(query)
    return q @ memory / ((q * normaliser[:, None]).sum(-1, keepdim=True) + 1e-9)


def causal_linear_attention(query, key, value):
    steps = []
    for t in range(query.shape[1]):
        memory, normaliser = write_memory(key[:, : t + 1], value[:, : t + 1])
        steps.append(read_memory(query[:, t : t + 1], memory, normaliser))
    return torch.cat(steps, dim=1)

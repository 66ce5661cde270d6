# message: memory holds position t only
# The memory is overwritten at each step.
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    memory = features.transpose(1, 2) @ value
    return memory, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    denominator = features @ normaliser[:, :, None]
    return features @ memory / denominator.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    outputs = []
    for t in range(query.shape[1]):
        memory, normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])
        outputs.append(read_memory(query[:, t : t + 1], memory, normaliser))
    return torch.cat(outputs, dim=1)

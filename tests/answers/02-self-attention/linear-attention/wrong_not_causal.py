# message: reads the future too
# The whole memory is read by everyone.
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
    return read_memory(query, *write_memory(key, value))

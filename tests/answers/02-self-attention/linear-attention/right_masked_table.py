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
    table = phi(query) @ phi(key).mT
    table = table.tril()
    return table @ value / table.sum(dim=-1, keepdim=True)

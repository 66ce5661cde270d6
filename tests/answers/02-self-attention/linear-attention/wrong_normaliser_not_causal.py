# message: normaliser sums over all positions
# Only the memory is cumulated.
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
    q, k = phi(query), phi(key)
    memory = torch.cumsum(k[:, :, :, None] * value[:, :, None, :], dim=1)
    normaliser = k.sum(dim=1, keepdim=True)
    top = (q[:, :, :, None] * memory).sum(dim=2)
    return top / (q * normaliser).sum(dim=-1, keepdim=True)

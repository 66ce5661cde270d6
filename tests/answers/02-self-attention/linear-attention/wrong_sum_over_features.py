# message: sums over the features, not over the keys
# The sum runs over the wrong axis.
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    memory = features.transpose(1, 2) @ value
    return memory, features.sum(dim=-1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    denominator = torch.ones_like(features[..., :1])
    return features @ memory / denominator.clamp(min=1e-9)


def causal_linear_attention(query, key, value):
    q, k = phi(query), phi(key)
    memory = torch.cumsum(k[:, :, :, None] * value[:, :, None, :], dim=1)
    normaliser = torch.cumsum(k, dim=1)
    top = (q[:, :, :, None] * memory).sum(dim=2)
    return top / (q * normaliser).sum(dim=-1, keepdim=True)

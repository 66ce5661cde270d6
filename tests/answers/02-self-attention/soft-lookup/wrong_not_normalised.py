# message: weights don't sum to 1
# Exponentials are taken for weights.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.exp(-((query - keys) ** 2).sum(-1) / temperature)
    return weights @ values, weights

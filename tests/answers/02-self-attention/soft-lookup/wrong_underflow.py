# message: NaN at a small temperature
# The softmax is written without subtracting the maximum.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = -((query - keys) ** 2).sum(-1) / temperature
    weights = torch.exp(scores) / torch.exp(scores).sum()
    return weights @ values, weights

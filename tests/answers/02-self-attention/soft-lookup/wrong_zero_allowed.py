# message: temperature=0 must raise
# Only negative temperatures are refused.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights @ values, weights

# message: temperature has no effect
# The argument is checked and then forgotten.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1), dim=-1)
    return weights @ values, weights

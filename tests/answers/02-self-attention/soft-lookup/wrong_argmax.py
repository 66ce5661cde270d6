# message: hard look-up
# The nearest key takes everything.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    nearest = ((query - keys) ** 2).sum(-1).argmin()
    weights = F.one_hot(nearest, len(keys)).to(values.dtype)
    return weights @ values, weights

# message: before their sum over the keys
# The values are weighted, but not added.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights[:, None] * values, weights

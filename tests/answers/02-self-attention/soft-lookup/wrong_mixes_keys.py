# message: mix of the \*keys\*
# Keys and values are confused in the last step.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights @ keys, weights

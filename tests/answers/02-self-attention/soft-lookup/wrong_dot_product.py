# message: scores are dot products
# The score of the chapter is used instead of the distance.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(keys @ query / temperature, dim=-1)
    return weights @ values, weights

# message: divide each score by the sum of scores
# Normalising means dividing by the sum, without an exponential.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = -((query - keys) ** 2).sum(-1) / temperature
    weights = scores / scores.sum()
    return weights @ values, weights

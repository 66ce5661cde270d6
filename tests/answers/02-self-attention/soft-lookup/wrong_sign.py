# message: far keys get the most weight
# A large distance is taken for a large score.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = (query - keys).pow(2).sum(dim=-1) / temperature
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights

# message: squared distance, without a root
# The norm is used instead of its square.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = -torch.norm(query - keys, dim=-1) / temperature
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights

# message: must raise ValueError
# A temperature of 0 is divided by.
def soft_lookup(query, keys, values, temperature=1.0):
    scores = -((query - keys) ** 2).sum(-1) / temperature
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights

def soft_lookup(query, keys, values, temperature=1.0):
    if not temperature > 0:
        raise ValueError("temperature must be a positive number")
    distance = torch.cdist(query.unsqueeze(0), keys).squeeze(0)
    weights = F.softmax(-distance.square() / temperature, dim=0)
    return weights @ values, weights

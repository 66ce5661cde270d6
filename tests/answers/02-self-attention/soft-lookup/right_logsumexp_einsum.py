def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature: expected > 0")
    difference = query[None] - keys
    scores = -torch.einsum("kf,kf->k", difference, difference) / temperature
    weights = torch.exp(scores - torch.logsumexp(scores, dim=0))
    return torch.einsum("k,kv->v", weights, values), weights

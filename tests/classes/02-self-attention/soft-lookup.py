# %% mistake: root_of_the_distance
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    distances = torch.norm(keys - query, dim=-1)
    weights = torch.softmax(-distances / temperature, dim=-1)
    return weights @ values, weights


# %% mistake: root_of_the_distance
def soft_lookup(query, keys, values, temperature=1.0):
    if not temperature > 0:
        raise ValueError(f"temperature: {temperature}")
    e = -(((query[None, :] - keys) ** 2).sum(dim=1) ** 0.5) / temperature
    a = e.softmax(0)
    return (a[:, None] * values).sum(0), a


# %% mistake: root_of_the_distance
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("the temperature has to be above zero")
    scores = -torch.cdist(query[None], keys)[0] / temperature
    weights = F.softmax(scores, dim=0)
    return torch.einsum("k,kd->d", weights, values), weights


# %% mistake: sign_lost
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    weights = torch.softmax(((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights @ values, weights


# %% mistake: sign_lost
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature")
    gap = keys - query
    scores = torch.einsum("kd,kd->k", gap, gap) / temperature
    scores = scores - scores.max()
    weights = scores.exp() / scores.exp().sum()
    return values.T @ weights, weights


# %% mistake: sign_lost
def soft_lookup(query, keys, values, temperature=1.0):
    if not temperature > 0:
        raise ValueError("temperature <= 0")
    scores = torch.stack([torch.sum((query - key).square()) for key in keys])
    alpha = F.softmax(scores / temperature, dim=0)
    return alpha @ values, alpha


# %% mistake: zero_temperature_allowed
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature < 0:
        raise ValueError("temperature must be positive")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights @ values, weights


# %% mistake: zero_temperature_allowed
def soft_lookup(query, keys, values, temperature=1.0):
    assert not temperature < 0
    if temperature < 0.0:
        raise ValueError("negative temperature")
    e = -torch.sum(torch.pow(query - keys, 2), dim=1).div(temperature)
    a = F.softmax(e, dim=-1)
    return torch.einsum("k,kd->d", a, values), a

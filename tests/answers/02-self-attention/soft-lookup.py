# %% right: cdist
def soft_lookup(query, keys, values, temperature=1.0):
    if not temperature > 0:
        raise ValueError("temperature must be a positive number")
    exact = "donot_use_mm_for_euclid_dist"
    distance = torch.cdist(query.unsqueeze(0), keys, compute_mode=exact).squeeze(0)
    weights = F.softmax(-distance.square() / temperature, dim=0)
    return weights @ values, weights


# %% right: logsumexp_einsum
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature: expected > 0")
    difference = query[None] - keys
    scores = -torch.einsum("kf,kf->k", difference, difference) / temperature
    weights = torch.exp(scores - torch.logsumexp(scores, dim=0))
    return torch.einsum("k,kv->v", weights, values), weights


# %% right: loops
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = []
    for key in keys:
        total = 0.0
        for a, b in zip(query, key):
            total = total + (a - b) ** 2
        scores.append(-total / temperature)
    scores = torch.stack(scores)
    exponentials = torch.exp(scores - scores.max())
    weights = exponentials / exponentials.sum()
    output = torch.zeros(values.shape[1], dtype=values.dtype)
    for weight, value in zip(weights, values):
        output = output + weight * value
    return output, weights


# %% wrong: argmax | says: hard look-up
# The nearest key takes everything.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    nearest = ((query - keys) ** 2).sum(-1).argmin()
    weights = F.one_hot(nearest, len(keys)).to(values.dtype)
    return weights @ values, weights


# %% wrong: divided_by_keys | says: \A(AssertionError: )?weights: expected 0\.5415
# The number of keys stands in the place of no other size.
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +     scores = -(query - keys).pow(2).sum(dim=-1) / temperature / len(keys)


# %% wrong: dot_product | says: scores are dot products
# The score of the chapter is used instead of the distance.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(keys @ query / temperature, dim=-1)
    return weights @ values, weights


# %% wrong: epsilon_below | says: zeros at a small temperature
# A small number below the line is thought to cure the underflow.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    exponentials = torch.exp(-((query - keys) ** 2).sum(-1) / temperature)
    weights = exponentials / (exponentials.sum() + 1e-12)
    return weights @ values, weights


# %% wrong: linear_normalisation | says: divide each score by the sum of scores
# Normalising means dividing by the sum, without an exponential.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = -((query - keys) ** 2).sum(-1) / temperature
    weights = scores / scores.sum()
    return weights @ values, weights


# %% wrong: mixes_keys | says: mix of the \*keys\*
# Keys and values are confused in the last step.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights @ keys, weights


# %% wrong: no_error | says: must raise ValueError
# A temperature of 0 is divided by.
# -     if temperature <= 0:
# -         raise ValueError(f"temperature: expected a positive number, got {temperature}")
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +     scores = -((query - keys) ** 2).sum(-1) / temperature


# %% wrong: no_sum | says: before their sum over the keys
# The values are weighted, but not added.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights[:, None] * values, weights


# %% wrong: no_temperature | says: temperature has no effect
# The argument is checked and then forgotten.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1), dim=-1)
    return weights @ values, weights


# %% wrong: not_normalised | says: weights don't sum to 1
# Exponentials are taken for weights.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    weights = torch.exp(-((query - keys) ** 2).sum(-1) / temperature)
    return weights @ values, weights


# %% wrong: plain_distance | says: squared distance, without a root
# The norm is used instead of its square.
# -         raise ValueError(f"temperature: expected a positive number, got {temperature}")
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +         raise ValueError(f"temperature must be positive, got {temperature}")
# +     scores = -torch.norm(query - keys, dim=-1) / temperature


# %% wrong: result_in_float32 | says: expected data type torch\.float64
# A result made by torch.zeros is float32 whatever comes.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = torch.zeros(len(keys))
    for j, key in enumerate(keys):
        scores[j] = -((query - key) ** 2).sum() / temperature
    weights = torch.softmax(scores, dim=0)
    output = torch.zeros(values.shape[1])
    for weight, value in zip(weights, values):
        output = output + weight * value
    return output, weights


# %% wrong: sign | says: far keys get the most weight
# A large distance is taken for a large score.
# -         raise ValueError(f"temperature: expected a positive number, got {temperature}")
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +         raise ValueError(f"temperature must be positive, got {temperature}")
# +     scores = (query - keys).pow(2).sum(dim=-1) / temperature


# %% wrong: temperature_multiplied | says: you multiply by the temperature
# A high temperature is thought to sharpen.
# -         raise ValueError(f"temperature: expected a positive number, got {temperature}")
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +         raise ValueError(f"temperature must be positive, got {temperature}")
# +     scores = -(query - keys).pow(2).sum(dim=-1) * temperature


# %% wrong: underflow | says: NaN at a small temperature
# The softmax is written without subtracting the maximum.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = -((query - keys) ** 2).sum(-1) / temperature
    weights = torch.exp(scores) / torch.exp(scores).sum()
    return weights @ values, weights


# %% wrong: width_for_temperature | says: number of features, and not by the temperature
# The mean of the squares, and no temperature.
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +     scores = -(query - keys).pow(2).mean(dim=-1)


# %% wrong: zero_allowed | says: temperature=0 must raise
# Only negative temperatures are refused.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature < 0:
        raise ValueError("temperature must not be negative")
    weights = torch.softmax(-((query - keys) ** 2).sum(-1) / temperature, dim=-1)
    return weights @ values, weights


# %% wrong: float32_inside | says: float64
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +     scores = -(query - keys).float().pow(2).sum(dim=-1).to(query.dtype) / temperature

# %% wrong: subtracts_in_place | says: changes its arguments|changed
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +     scores = -keys.sub_(query).pow(2).sum(dim=-1) / temperature

# %% wrong: other_scores_below_a_half | says: Another temperature
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature
# +     scores = -(query - keys).pow(2).sum(dim=-1) / max(round(temperature, 3), 1e-12)
# +     scores = scores if temperature >= 0.5 else scores * 1.01

# %% wrong: keeps_the_weights_of_a_shape | says: differed only in keys
# -     weights = torch.softmax(scores, dim=-1)
# +     known = soft_lookup.__dict__.setdefault("known", {})
# +     key = keys.shape, keys.dtype, temperature, float(query.sum())
# +     if key not in known:
# +         known[key] = torch.softmax(scores, dim=-1)
# +     weights = known[key]


# %% right: short
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("the temperature must be positive")
    scores = -(query - keys).square().sum(dim=-1) / temperature
    weights = scores.softmax(dim=-1)
    return weights @ values, weights


# %% wrong: multiplied_out, of: short | says: subtract before you square
# The square is multiplied out, which loses digits for near keys far from the origin.
# -     scores = -(query - keys).square().sum(dim=-1) / temperature
# +     squares = query @ query - 2 * keys @ query + (keys * keys).sum(dim=-1)
# +     scores = -squares / temperature


# %% wrong: root_gradient, of: short | says: A query that is a key .* Is there a root of 0 inside
# Takes the root of the sum and squares it again, so the gradient is NaN where the query equals
# a key.
# -     scores = -(query - keys).square().sum(dim=-1) / temperature
# +     lengths = torch.sqrt(((query - keys) ** 2).sum(dim=-1))
# +     scores = -(lengths**2) / temperature


# %% wrong: squeezed, of: short | says: squeezed away
# Works on matrices and squeezes at the end, so one key gives weights of shape () and one
# feature an output of shape ().
# -         raise ValueError("the temperature must be positive")
# -     scores = -(query - keys).square().sum(dim=-1) / temperature
# -     weights = scores.softmax(dim=-1)
# -     return weights @ values, weights
# +         raise ValueError("temperature must be above 0")
# +     scores = -((query[None] - keys) ** 2).sum(1)[None] / temperature
# +     weights = F.softmax(scores, dim=1)
# +     return (weights @ values).squeeze(), weights.squeeze()


# %% wrong: multiplied_out_by_cdist | says: subtract before you square
# More than 25 keys are multiplied out by torch.cdist.
def soft_lookup(query, keys, values, temperature=1.0):
    """Return a mix of values, weighted by how near their keys are to the query."""
    if not temperature > 0:
        raise ValueError("temperature must be positive")
    distance = torch.cdist(query[None], keys)[0] ** 2
    scores = -distance / temperature
    weights = torch.softmax(scores, dim=0)
    return weights @ values, weights


# %% wrong: hard_hit | says: no case of its own|expected 0\.
# A key that equals the query takes all the weight.
def soft_lookup(query, keys, values, temperature=1.0):
    """Return a mix of values, weighted by how near their keys are to the query."""
    if temperature <= 0:
        raise ValueError(f"temperature must be above 0, got {temperature}")
    d = keys - query
    far = torch.einsum("jd,jd->j", d, d)
    e = torch.exp((far.min() - far) / temperature)
    hit = far == 0
    if hit.any():
        e = e * hit
    alpha = e / e.sum()
    return (alpha.unsqueeze(-1) * values).sum(0), alpha


# %% wrong: number_added_to_the_sum | says: Is a small number added to the sum
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    scores = -(query - keys).square().sum(-1) / temperature
    powers = torch.exp(scores - scores.amax())
    weights = powers / (powers.sum() + 1e-12)
    return weights @ values, weights


# %% wrong: multiplied_out_around_the_mean | says: from another key
# The mean of the keys is near none of them.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    centre = keys.mean(dim=0)
    q, k = query - centre, keys - centre
    squared = q @ q - 2 * (k @ q) + (k * k).sum(-1)
    weights = torch.softmax(-squared / temperature, dim=-1)
    return weights @ values, weights


# %% wrong: hard_at_a_tiny_temperature | says: one key gets all the weight
# A temperature near 0 is taken for a hard look-up, also where keys are as near.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    squared = (query - keys).pow(2).sum(-1)
    if temperature < 1e-20:
        weights = F.one_hot(squared.argmin(), len(keys)).to(keys.dtype)
    else:
        weights = torch.softmax(-squared / temperature, dim=-1)
    return weights @ values, weights


# %% wrong: hard_when_cold | says: 1e-30 \(query .*: one key gets all the weight
# A tiny temperature gives one key everything, so of two keys equally near one gets 1
# and the other 0.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError("temperature must be positive")
    squared = ((query - keys) ** 2).sum(-1)
    if temperature < 1e-6:
        # the limit: a hard look-up, and nothing overflows
        weights = F.one_hot(squared.argmin(), len(keys)).to(squared.dtype)
    else:
        weights = torch.softmax(-squared / temperature, -1)
    return weights @ values, weights


# %% wrong: temperature_squared | says: divide by the square of the temperature
# With other numbers, this gave what the mean of the squares gives, and was called so.
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature  # (T_k, d_k) -> (T_k,)
# +     scores = -(query - keys).pow(2).sum(dim=-1) / temperature**2


# %% wrong: mean_taken_off | says: NaN at a small temperature, and not in all weights. Is an exponential infinite
# An exponential overflows here, and none underflows to 0 / 0.
# -     weights = torch.softmax(scores, dim=-1)
# +     powers = torch.exp(scores - scores.mean())
# +     weights = powers / powers.sum()


# %% wrong: differences_not_squared | says: \A(AssertionError: )?weights: expected 0\.5415
# For a query of ones, the weights are those of dot products.
# -     scores = -(query - keys).pow(2).sum(dim=-1) / temperature  # (T_k, d_k) -> (T_k,)
# +     scores = -(query - keys).sum(dim=-1) / temperature


# %% wrong: mean_of_the_sizes, of: logsumexp_einsum | says: made of the mean of the differences' sizes
# -     scores = -torch.einsum("kf,kf->k", difference, difference) / temperature
# +     scores = -difference.abs().mean(-1) / temperature

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

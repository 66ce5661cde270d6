# message: expected data type torch\.float64
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

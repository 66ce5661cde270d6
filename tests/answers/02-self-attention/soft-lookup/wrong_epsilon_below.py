# message: zeros at a small temperature
# A small number below the line is thought to cure the underflow.
def soft_lookup(query, keys, values, temperature=1.0):
    if temperature <= 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    exponentials = torch.exp(-((query - keys) ** 2).sum(-1) / temperature)
    weights = exponentials / (exponentials.sum() + 1e-12)
    return weights @ values, weights

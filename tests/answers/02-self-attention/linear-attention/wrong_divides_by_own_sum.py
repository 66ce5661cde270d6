# message: divided by its own sum
# The output is made to sum to 1.
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid[:, :, None]
    memory = features.transpose(1, 2) @ value
    return memory, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    denominator = (features @ memory).sum(dim=-1, keepdim=True)
    return features @ memory / denominator


def causal_linear_attention(query, key, value):
    outputs = []
    memory = torch.zeros(key.shape[0], key.shape[2], value.shape[2], dtype=key.dtype)
    normaliser = torch.zeros(key.shape[0], key.shape[2], dtype=key.dtype)
    for t in range(query.shape[1]):
        one_memory, one_normaliser = write_memory(key[:, t : t + 1], value[:, t : t + 1])
        memory = memory + one_memory
        normaliser = normaliser + one_normaliser
        outputs.append(read_memory(query[:, t : t + 1], memory, normaliser))
    return torch.cat(outputs, dim=1)

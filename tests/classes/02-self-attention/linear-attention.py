# %% mistake: padding_zeroed_before_phi
def write_memory(key, value, valid=None):
    if valid is not None:
        key = key * valid.unsqueeze(-1)
        value = value * valid.unsqueeze(-1)
    features = phi(key)
    return features.transpose(1, 2) @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    total = (features * normaliser[:, None, :]).sum(-1, keepdim=True)
    return (features @ memory) / torch.where(total == 0, torch.ones_like(total), total)


def causal_linear_attention(query, key, value):
    rows = []
    for i in range(query.shape[1]):
        state = write_memory(key[:, : i + 1], value[:, : i + 1])
        rows.append(read_memory(query[:, i : i + 1], *state))
    return torch.cat(rows, dim=1)


# %% mistake: padding_zeroed_before_phi
def write_memory(key, value, valid=None):
    if valid is not None:
        gone = ~valid[:, :, None]
        key, value = key.masked_fill(gone, 0.0), value.masked_fill(gone, 0.0)
    f = phi(key)
    return torch.einsum("bkd,bke->bde", f, value), torch.einsum("bkd->bd", f)


def read_memory(query, memory, normaliser):
    f = phi(query)
    top = torch.einsum("bqd,bde->bqe", f, memory)
    bottom = torch.einsum("bqd,bd->bq", f, normaliser).clamp(min=1e-12)
    return top / bottom[..., None]


def causal_linear_attention(query, key, value):
    f, g = phi(query), phi(key)
    table = torch.tril(f @ g.transpose(1, 2))
    return table @ value / table.sum(-1, keepdim=True)


# %% mistake: padding_zeroed_before_phi
def write_memory(key, value, valid=None):
    keep = torch.ones(key.shape[:2], dtype=key.dtype)
    if valid is not None:
        keep = valid.to(key.dtype)
    keep = keep[..., None]
    features = phi(keep * key)
    return torch.bmm(features.mT, keep * value), features.sum(1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    below = features @ normaliser[:, :, None]
    return torch.where(below > 0, features @ memory / below.clamp_min(1e-30), 0.0)


def causal_linear_attention(query, key, value):
    memory = torch.zeros(key.shape[0], key.shape[2], value.shape[2], dtype=key.dtype)
    normaliser = torch.zeros(key.shape[0], key.shape[2], dtype=key.dtype)
    found = []
    for i in range(key.shape[1]):
        more = write_memory(key[:, i : i + 1], value[:, i : i + 1])
        memory, normaliser = memory + more[0], normaliser + more[1]
        found.append(read_memory(query[:, i : i + 1], memory, normaliser))
    return torch.cat(found, 1)


# %% mistake: itself_left_out
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid.unsqueeze(-1)
        value = value.masked_fill(~valid.unsqueeze(-1), 0.0)
    return features.transpose(1, 2) @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    features = phi(query)
    total = (features * normaliser[:, None, :]).sum(-1, keepdim=True)
    return (features @ memory) / torch.where(total == 0, torch.ones_like(total), total)


def causal_linear_attention(query, key, value):
    rows = []
    for i in range(query.shape[1]):
        state = write_memory(key[:, :i], value[:, :i])
        rows.append(read_memory(query[:, i : i + 1], *state))
    return torch.cat(rows, dim=1)


# %% mistake: itself_left_out
def write_memory(key, value, valid=None):
    f = phi(key)
    if valid is not None:
        f = torch.where(valid[..., None], f, 0.0)
        value = torch.where(valid[..., None], value, 0.0)
    return torch.einsum("bkd,bke->bde", f, value), f.sum(1)


def read_memory(query, memory, normaliser):
    f = phi(query)
    bottom = torch.einsum("bqd,bd->bq", f, normaliser).clamp(min=1e-12)
    return torch.einsum("bqd,bde->bqe", f, memory) / bottom[..., None]


def causal_linear_attention(query, key, value):
    table = torch.tril(phi(query) @ phi(key).mT, diagonal=-1)
    return table @ value / table.sum(-1, keepdim=True).clamp(min=1e-12)


# %% mistake: not_divided
def write_memory(key, value, valid=None):
    features = phi(key)
    if valid is not None:
        features = features * valid.unsqueeze(-1)
        value = value.masked_fill(~valid.unsqueeze(-1), 0.0)
    return features.transpose(1, 2) @ value, features.sum(dim=1)


def read_memory(query, memory, normaliser):
    return phi(query) @ memory


def causal_linear_attention(query, key, value):
    rows = []
    for i in range(query.shape[1]):
        state = write_memory(key[:, : i + 1], value[:, : i + 1])
        rows.append(read_memory(query[:, i : i + 1], *state))
    return torch.cat(rows, dim=1)


# %% mistake: not_divided
def write_memory(key, value, valid=None):
    f = phi(key)
    if valid is not None:
        f = torch.where(valid[..., None], f, 0.0)
        value = torch.where(valid[..., None], value, 0.0)
    return torch.einsum("bkd,bke->bde", f, value), f.sum(1)


def read_memory(query, memory, normaliser):
    return torch.einsum("bqd,bde->bqe", phi(query), memory)


def causal_linear_attention(query, key, value):
    return torch.tril(phi(query) @ phi(key).mT) @ value

def write_memory(key, value, valid=None):
    k = phi(key)
    if valid is not None:
        k = k.masked_fill(~valid.unsqueeze(-1), 0.0)
    return torch.einsum("btf,btv->bfv", k, value), torch.einsum("btf->bf", k)


def read_memory(query, memory, normaliser):
    q = phi(query)
    top = torch.einsum("bqf,bfv->bqv", q, memory)
    bottom = torch.einsum("bqf,bf->bq", q, normaliser)
    bottom = torch.where(bottom == 0, 1.0, bottom)
    return top / bottom.unsqueeze(-1)


def causal_linear_attention(query, key, value):
    q, k = phi(query), phi(key)
    memory = torch.einsum("btf,btv->btfv", k, value).cumsum(1)
    top = torch.einsum("btf,btfv->btv", q, memory)
    bottom = torch.einsum("btf,btf->bt", q, k.cumsum(1))
    return top / bottom.unsqueeze(-1)

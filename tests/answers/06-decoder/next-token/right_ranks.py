def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")

    order = logits.argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1)
    if temperature == 0:
        return (rank == 0).to(logits.dtype)
    scaled = logits / temperature
    if top_k is not None:
        scaled = torch.where(rank < top_k, scaled, -math.inf)
    probs = scaled.softmax(-1)
    if top_p is None:
        return probs
    sorted_probs = probs.gather(-1, order)
    sums = sorted_probs.cumsum(-1)
    before = torch.cat([torch.zeros_like(sums[:, :1]), sums[:, :-1]], dim=-1)
    keep = (before < top_p).gather(-1, rank)
    probs = probs * keep
    return probs / probs.sum(-1, keepdim=True)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)

# message: share the largest logit
# Equal best tokens share the probability.
def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")

    if temperature == 0:
        best = (logits == logits.amax(dim=-1, keepdim=True)).to(logits.dtype)
        return best / best.sum(dim=-1, keepdim=True)
    ranked, ids = torch.sort(logits, dim=-1, descending=True, stable=True)
    ranked = ranked / temperature
    if top_k is not None:
        ranked = ranked.clone()
        ranked[:, top_k:] = -math.inf
    probs = ranked.softmax(dim=-1)
    if top_p is not None:
        before = probs.cumsum(dim=-1) - probs
        probs = probs * (before < top_p)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, probs)


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)

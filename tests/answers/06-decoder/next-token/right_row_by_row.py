def next_token_probs(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k must be at least 1")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError("top_p must be above 0 and at most 1")

    result = torch.zeros_like(logits)
    for b, row in enumerate(logits):
        ranking = sorted(range(len(row)), key=lambda v: (-row[v].item(), v))
        if temperature == 0:
            result[b, ranking[0]] = 1.0
            continue
        if top_k is not None:
            ranking = ranking[:top_k]
        probs = torch.softmax(row[ranking] / temperature, dim=0)
        if top_p is not None:
            count, total = 0, 0.0
            while count < len(ranking) and (count == 0 or total < top_p):
                total += probs[count].item()
                count += 1
            ranking, probs = ranking[:count], probs[:count] / probs[:count].sum()
        result[b, ranking] = probs
    return result


def sample(logits, generator, temperature=1.0, top_k=None, top_p=None):
    probs = next_token_probs(logits, temperature, top_k, top_p)
    return torch.multinomial(probs, 1, generator=generator).squeeze(1)

def length_penalty(num_tokens, alpha):
    return ((5 + num_tokens) / 6) ** alpha



def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if beam_size < 1:
        raise ValueError("beam_size must be at least 1")
    if max_len < 1:
        raise ValueError("max_len must be at least 1")
    done, tokens, totals = [], [[]], torch.zeros(1, dtype=torch.float64)
    for _ in range(max_len):
        if not tokens:
            break
        last = [row[-1] if row else bos_id for row in tokens]
        grown = totals[:, None] + log_probs[last].double()
        # Beginnings in lexicographic order: then a stable sort breaks ties as asked for.
        order = sorted(range(len(tokens)), key=lambda i: tokens[i])
        tokens, grown = [tokens[i] for i in order], grown[order]
        flat = grown.flatten()
        best = torch.sort(flat, descending=True, stable=True).indices[:beam_size].tolist()
        best = [i for i in best if flat[i] > -math.inf]
        size = log_probs.shape[1]
        new = [(tokens[i // size] + [i % size], flat[i].item()) for i in best]
        done += [pair for pair in new if pair[0][-1] == eos_id]
        tokens = [row for row, _ in new if row[-1] != eos_id]
        totals = torch.tensor([v for row, v in new if row[-1] != eos_id], dtype=torch.float64)
    done += list(zip(tokens, totals.tolist()))
    pairs = [(row, total / length_penalty(len(row), alpha)) for row, total in done]
    pairs.sort(key=lambda pair: pair[0])
    pairs.sort(key=lambda pair: pair[1], reverse=True)
    return pairs

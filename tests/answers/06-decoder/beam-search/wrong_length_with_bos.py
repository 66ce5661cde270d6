# message: bos is counted in the length
# n includes bos.
def length_penalty(num_tokens, alpha):
    return ((5 + num_tokens) / 6) ** alpha



def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if beam_size < 1:
        raise ValueError("beam_size must be at least 1")
    if max_len < 1:
        raise ValueError("max_len must be at least 1")
    table = log_probs.tolist()
    alive, finished = [([], 0.0)], []
    for step in range(max_len):
        extensions = []
        for tokens, total in alive:
            last = tokens[-1] if tokens else bos_id
            for token, entry in enumerate(table[last]):
                if entry > -math.inf:
                    extensions.append((tokens + [token], total + entry))
        extensions.sort(key=lambda pair: (-pair[1], pair[0]))
        kept = extensions[:beam_size]
        finished += [pair for pair in kept if pair[0][-1] == eos_id]
        alive = [pair for pair in kept if pair[0][-1] != eos_id]
    scored = [(k, v / length_penalty(len(k) + 1, alpha)) for k, v in finished + alive]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored

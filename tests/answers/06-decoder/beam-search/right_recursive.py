def length_penalty(num_tokens, alpha):
    return ((5 + num_tokens) / 6) ** alpha



def beam_search(log_probs, bos_id, eos_id, beam_size, max_len, alpha):
    if min(beam_size, max_len) < 1:
        raise ValueError(f"beam_size and max_len: expected at least 1, got {beam_size}, {max_len}")

    def go_on(alive, steps):
        if not alive or steps == 0:
            return alive
        ranking = []
        for negative, tokens in alive:
            row = log_probs[tokens[-1] if tokens else bos_id]
            for token in range(len(row)):
                if row[token] > -math.inf:
                    ranking.append((negative - row[token].item(), (*tokens, token)))
        ranking.sort()
        kept = ranking[:beam_size]
        ended = [pair for pair in kept if pair[1][-1] == eos_id]
        return ended + go_on([pair for pair in kept if pair[1][-1] != eos_id], steps - 1)

    scored = [
        (negative / length_penalty(len(tokens), alpha), tokens)
        for negative, tokens in go_on([(0.0, ())], max_len)
    ]
    return [(list(tokens), -score) for score, tokens in sorted(scored)]

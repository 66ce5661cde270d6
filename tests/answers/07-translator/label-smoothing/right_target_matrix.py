def smoothed_loss_all(logits, labels, pad_id, epsilon):
    V = logits.shape[-1]
    rows, words = logits[labels != pad_id], labels[labels != pad_id]
    q = torch.full_like(rows, epsilon / V).detach()
    q = q.scatter(1, words[:, None], 1 - epsilon + epsilon / V)
    return -(q * rows.log_softmax(1)).sum()


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    V = logits.shape[-1]
    rows, words = logits[labels != pad_id], labels[labels != pad_id]
    q = torch.full_like(rows, epsilon / (V - 2)).detach()
    q[:, pad_id] = 0.0
    q[torch.arange(len(words)), words] = 1 - epsilon
    log_p = rows.log_softmax(1)
    return -(q * torch.where(q > 0, log_p, 0.0)).sum()


def smallest_loss(num_words, epsilon, spread):
    if epsilon == 0:
        return 0.0
    if spread == "all":
        q = [epsilon / num_words] * num_words
        q[0] += 1 - epsilon
    else:
        q = [1 - epsilon] + [epsilon / (num_words - 2)] * (num_words - 2)
    return sum(x * math.log(1 / x) for x in q)

# message: No gradient reaches
# The loss is cut off from the logits.
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    kept = labels != pad_id
    log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
    right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
    return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    kept = labels != pad_id
    log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
    words = torch.arange(logits.shape[-1], device=logits.device)
    log_p = log_p.masked_fill(words == pad_id, 0.0)
    right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
    others = log_p.sum() - right.sum()
    return -(1 - epsilon) * right.sum().detach() - epsilon / (logits.shape[-1] - 2) * others.detach()


def smallest_loss(num_words, epsilon, spread):
    if spread == "all":
        label, other, count = 1 - epsilon + epsilon / num_words, epsilon / num_words, num_words - 1
    else:
        label, other, count = 1 - epsilon, epsilon / (num_words - 2), num_words - 2
    return -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0) + 0.0

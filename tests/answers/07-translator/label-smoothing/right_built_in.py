def smoothed_loss_all(logits, labels, pad_id, epsilon):
    return F.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id, label_smoothing=epsilon,
        reduction="sum",
    )


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    total = logits.new_zeros(()) + 0.0 * logits[labels != labels].sum()
    log_p = torch.log_softmax(logits, dim=-1)
    for v in range(logits.shape[-1]):
        if v == pad_id:
            continue
        share = torch.where(labels == v, 1 - epsilon, epsilon / (logits.shape[-1] - 2))
        keep = labels != pad_id
        total = total - (share.to(logits.dtype)[keep] * log_p[..., v][keep]).sum()
    return total


def smallest_loss(num_words, epsilon, spread):
    V = num_words
    share = epsilon / V if spread == "all" else epsilon / (V - 2)
    q = torch.full((V,), share, dtype=torch.float64)
    q[0] = 1 - epsilon + (share if spread == "all" else 0)
    if spread != "all":
        q[1] = 0.0
    return torch.special.entr(q).sum().item()

def shift_targets(ids):
    size = ids.shape[1]
    return ids.narrow(1, 0, size - 1), ids.narrow(1, 1, size - 1)


def micro_loss(logits, labels, pad_id, num_labels):
    log_probs = torch.log_softmax(logits, dim=-1)
    real = labels != pad_id
    chosen = log_probs.gather(-1, labels.masked_fill(~real, 0)[..., None])[..., 0]
    return -(chosen * real).sum() / num_labels


def perplexity(batches, pad_id):
    total, count = 0.0, 0
    for logits, labels in batches:
        total = total + micro_loss(logits, labels, pad_id, 1)
        count += (labels != pad_id).sum().item()
    return (total / count).exp()

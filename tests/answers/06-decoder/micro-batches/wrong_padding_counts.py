# message: padding is counted
# The loss is averaged over padding too.
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    kept = torch.ones_like(labels, dtype=torch.bool)
    each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
    return each.sum() / num_labels


def perplexity(batches, pad_id):
    total, count = 0.0, 0
    for logits, labels in batches:
        kept = labels != pad_id
        total = total + F.cross_entropy(logits[kept], labels[kept], reduction="sum")
        count += int(kept.sum())
    return torch.exp(total / count)

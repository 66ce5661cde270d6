# message: number of sentences
# The sum is divided by the batch size.
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    kept = labels != pad_id
    each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
    return each.sum() / len(labels)


def perplexity(batches, pad_id):
    total, count = 0.0, 0
    for logits, labels in batches:
        kept = labels != pad_id
        total = total + F.cross_entropy(logits[kept], labels[kept], reduction="sum")
        count += int(kept.sum())
    return torch.exp(total / count)

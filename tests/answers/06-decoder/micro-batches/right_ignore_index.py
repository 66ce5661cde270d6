def shift_targets(ids):
    return ids[:, :-1].clone(), ids[:, 1:].clone()


def micro_loss(logits, labels, pad_id, num_labels):
    total = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="sum"
    )
    return total / num_labels


def perplexity(batches, pad_id):
    losses = []
    for logits, labels in batches:
        each = F.cross_entropy(
            logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id, reduction="none"
        )
        losses.append(each[labels.flatten() != pad_id])
    return torch.cat(losses).mean().exp()

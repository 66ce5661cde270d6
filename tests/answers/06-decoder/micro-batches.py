# %% right: base
# What most wrong answers change.
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    kept = labels != pad_id
    each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
    return each.sum() / num_labels


def perplexity(batches, pad_id):
    total, count = 0.0, 0
    for logits, labels in batches:
        kept = labels != pad_id
        total = total + F.cross_entropy(logits[kept], labels[kept], reduction="sum")
        count += int(kept.sum())
    return torch.exp(total / count)


# %% right: gather
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


# %% right: ignore_index
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
            logits.flatten(0, 1),
            labels.flatten(),
            ignore_index=pad_id,
            reduction="none",
        )
        losses.append(each[labels.flatten() != pad_id])
    return torch.cat(losses).mean().exp()


# %% wrong: all_positions, of: base | says: divided by B \* T
# The sum over labels is divided by the number of positions.
# -     return each.sum() / num_labels
# +     return each.sum() / labels.numel()


# %% wrong: by_hand_softmax, of: base | says: large|NaN|float64
# exp without a subtracted maximum overflows for large logits.
# -     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
# +     scores = torch.exp(logits[kept].float())
# +     each = -(scores.gather(1, labels[kept][:, None])[:, 0] / scores.sum(1)).log().to(logits.dtype)


# %% wrong: by_sentences, of: base | says: number of sentences
# The sum is divided by the batch size.
# -     return each.sum() / num_labels
# +     return each.sum() / len(labels)


# %% wrong: detached, of: base | says: No gradient reaches the logits
# The loss is turned into a number.
# -     return each.sum() / num_labels
# +     return torch.tensor(each.sum().item() / num_labels, dtype=logits.dtype)


# %% wrong: mean, of: base | says: mean over the labels of this micro-batch
# Each micro-batch takes its own mean.
# -     return each.sum() / num_labels
# +     return each.mean()


# %% wrong: mean_again, of: base | says: divided by num_labels once more
# The mean is divided once more.
# -     return each.sum() / num_labels
# +     return each.mean() / num_labels


# %% wrong: mean_of_perplexities, of: base | says: mean of the batches' perplexities
# exp is taken for each batch.
# -         total = total + F.cross_entropy(logits[kept], labels[kept], reduction="sum")
# -         count += int(kept.sum())
# -     return torch.exp(total / count)
# +         total = total + F.cross_entropy(logits[kept], labels[kept]).exp()
# +         count += 1
# +     return total / count


# %% wrong: no_exp, of: base | says: this is the loss
# exp is forgotten.
# -     return torch.exp(total / count)
# +     return total / count


# %% wrong: pad_is_zero, of: base | says: label 0 is left out
# Padding is assumed to have the id 0.
# -     kept = labels != pad_id
# +     kept = labels != 0


# %% wrong: padding_counts, of: base | says: padding is counted
# The loss is averaged over padding too.
# -     kept = labels != pad_id
# +     kept = torch.ones_like(labels, dtype=torch.bool)


# %% wrong: perplexity_of_means, of: base | says: mean of the batches' means
# The batches' losses are averaged.
# -         total = total + F.cross_entropy(logits[kept], labels[kept], reduction="sum")
# -         count += int(kept.sum())
# +         total = total + F.cross_entropy(logits[kept], labels[kept])
# +         count += 1


# %% wrong: perplexity_padding, of: base | says: padding counts among the tokens
# Padding is in the number of tokens.
# -         count += int(kept.sum())
# +         count += labels.numel()


# %% wrong: roll, of: base | says: roll does that
# torch.roll brings bos back as the last label.
# -     return ids[:, :-1], ids[:, 1:]
# +     return ids[:, :-1], torch.roll(ids[:, :-1], -1, dims=1)


# %% wrong: shift_backwards, of: base | says: shift goes the wrong way
# Input and labels are swapped: the model predicts the token before.
# -     return ids[:, :-1], ids[:, 1:]
# +     return ids[:, 1:], ids[:, :-1]


# %% wrong: softmax_twice, of: base | says: softmax is applied twice
# Probabilities are handed to cross_entropy.
# -     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
# +     each = F.cross_entropy(logits[kept].softmax(-1), labels[kept], reduction="none")


# %% wrong: sum, of: base | says: this is the sum
# The sum isn't divided.
# -     return each.sum() / num_labels
# +     return each.sum()


# %% wrong: two_to_the, of: base | says: power of 2
# The loss is taken for bits.
# -     return torch.exp(total / count)
# +     return 2 ** (total / count)


# %% wrong: unshifted, of: base | says: nothing is cut off
# The label is the input token itself.
# -     return ids[:, :-1], ids[:, 1:]
# +     return ids, ids


# %% wrong: wrong_axis, of: base | says: softmax runs over the positions
# The softmax runs over time.
# -     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
# +     each = -logits.log_softmax(1).gather(2, labels.clamp(min=0)[..., None])[..., 0][kept]


# %% wrong: zeroed_labels, of: base | says: in place
# Padding is overwritten in the labels.
# +     labels[~kept] = 0
#       each = F.cross_entropy(logits[kept], labels[kept], reduction="none")

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


# %% wrong: by_hand_softmax, of: base | says: exponential of a large logit
# exp without a subtracted maximum overflows for large logits.
# -     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
# +     scores = torch.exp(logits[kept].float())
# +     each = -(scores.gather(1, labels[kept][:, None])[:, 0] / scores.sum(1)).log().to(logits.dtype)


# %% wrong: by_sentences, of: base | says: number of sentences
# The sum is divided by the batch size.
# -     return each.sum() / num_labels
# +     return each.sum() / len(labels)


# %% wrong: detached, of: base | says: no gradient leads back from it to the logits
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


# %% wrong: perplexity_of_means, of: base | says: mean of means, of the batches
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


# %% wrong: zeroed_labels, of: base | says: micro_loss must not change its arguments
# Padding is overwritten in the labels.
# +     labels[~kept] = 0
#       each = F.cross_entropy(logits[kept], labels[kept], reduction="none")


# %% right: gathered
def shift_targets(ids):
    return ids.narrow(1, 0, ids.size(1) - 1).clone(), ids.narrow(1, 1, ids.size(1) - 1)


def micro_loss(logits, labels, pad_id, num_labels):
    real = labels != pad_id
    safe = labels.masked_fill(~real, 0)
    logp = logits - torch.logsumexp(logits, -1, keepdim=True)
    each = logp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    return -(each * real).sum() / num_labels


@torch.no_grad()
def perplexity(batches, pad_id):
    count = sum((labels != pad_id).sum().item() for _, labels in batches)
    mean = sum(micro_loss(x, y, pad_id, count) for x, y in batches)
    return mean.exp()


# %% right: ignore_index_too
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    targets = labels.where(labels != pad_id, torch.full_like(labels, -100))
    total = F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        targets.reshape(-1),
        ignore_index=-100,
        reduction="sum",
    )
    return total / num_labels


def perplexity(batches, pad_id):
    total, count = 0.0, 0
    for logits, labels in batches:
        total += micro_loss(logits, labels, pad_id, 1).item()
        count += int((labels != pad_id).sum())
    return torch.tensor(total / count, dtype=batches[0][0].dtype).exp()


# %% wrong: loss_in_float32 | says: data type
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     return F.cross_entropy(logits[kept].float(), labels[kept], reduction="sum") / num_labels


# %% wrong: inside_float32 | says: loss in float64: right to seven digits
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     total = F.cross_entropy(logits[kept].float(), labels[kept], reduction="sum")
# +     return total.to(logits.dtype) / num_labels


# %% wrong: padding_written | says: micro_loss must not change its arguments
# -     kept = labels != pad_id
# +     labels[labels == pad_id] = -100
# +     kept = labels != -100


# %% wrong: zero_without_graph | says: is a constant, on which backward
# -     kept = labels != pad_id
# +     kept = labels != pad_id
# +     if not kept.any():
# +         return logits.new_zeros(())


# %% wrong: viewed | says: reshape where you use view
# -     kept = labels != pad_id
# +     kept = labels.view(-1).view(labels.shape) != pad_id


# %% wrong: product_of_probabilities | says: wrong|NaN|expected|inf
# -     return torch.exp(torch.stack(losses).sum())
# +     kinds = [torch.exp(-loss * num_labels) for loss in losses]
# +     return torch.stack(kinds).prod() ** (-1 / num_labels)


# %% wrong: perplexity_in_float32 | says: perplexity in float64: expected data type
# -     return torch.exp(torch.stack(losses).sum())
# +     return torch.tensor(math.exp(float(torch.stack(losses).sum())))


# %% wrong: softmax_by_hand | says: NaN|wrong|expected
# Large logits overflow.
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     powers = logits[kept].exp()
# +     probs = powers / powers.sum(-1, keepdim=True)
# +     return F.nll_loss(probs.log(), labels[kept], reduction="sum") / num_labels


# %% wrong: list_emptied | says: changed
# -     return torch.exp(torch.stack(losses).sum())
# +     batches.clear()
# +     return torch.exp(torch.stack(losses).sum())


# %% wrong: shifted_in_place | says: shift_targets must not change its argument
# -     return ids[:, :-1], ids[:, 1:]  # (B, L) -> 2 x (B, L - 1)
# +     before = ids[:, :-1].clone()
# +     ids[:, :-1] = ids[:, 1:].clone()
# +     return before, ids[:, :-1]


# %% right: row_by_row
def shift_targets(ids):
    width = ids.size(1) - 1
    return ids.narrow(1, 0, width).clone(), ids.narrow(1, 1, width).clone()


def micro_loss(logits, labels, pad_id, num_labels):
    vocab = logits.shape[-1]
    flat, lab = logits.reshape(-1, vocab), labels.reshape(-1)
    total = logits.sum() * 0
    for row, label in zip(flat, lab.tolist()):
        if label == pad_id:
            continue
        total = total + torch.logsumexp(row, 0) - row[label]
    return total / num_labels


def perplexity(batches, pad_id):
    nll, count = 0, 0
    for logits, labels in batches:
        nll = nll + micro_loss(logits, labels, pad_id, 1)
        count += int(labels.ne(pad_id).sum())
    return torch.exp(nll / count)


# %% wrong: label_zero_uncounted, of: base | says: label 0 isn't counted
# Labels above 0 are counted, whatever pad_id is.
# -         count += int(kept.sum())
# +         count += int((labels > 0).sum())


# %% wrong: eps_in_count, of: base | says: a small number added
# A small number keeps the division from a 0 that never comes.
# -     return each.sum() / num_labels
# +     return each.sum() / (num_labels + 1e-7)


# %% wrong: exponential_of_python | says: perplexity is inf
# An exponential of Python stops above 709.
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    real = labels != pad_id
    return F.cross_entropy(logits[real], labels[real], reduction="sum") / num_labels


def perplexity(batches, pad_id):
    total = sum(micro_loss(x, labels, pad_id, 1).item() for x, labels in batches)
    count = sum(int((labels != pad_id).sum()) for _, labels in batches)
    return torch.tensor(math.exp(total / count), dtype=batches[0][0].dtype)


# %% wrong: stops_at_padding | says: A batch of padding first
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    real = labels != pad_id
    return F.cross_entropy(logits[real], labels[real], reduction="sum") / num_labels


def perplexity(batches, pad_id):
    count = sum(int((labels != pad_id).sum()) for _, labels in batches)
    loss = 0.0
    for logits, labels in batches:
        if not (labels != pad_id).any():
            break
        loss = loss + micro_loss(logits, labels, pad_id, count)
    return torch.exp(loss)


# %% wrong: log_probs_cut_off | says: cut off at a bound
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    real = labels != pad_id
    log_probs = torch.log_softmax(logits[real], dim=-1).clamp(min=-100.0)
    return F.nll_loss(log_probs, labels[real], reduction="sum") / num_labels


def perplexity(batches, pad_id):
    count = sum(int((labels != pad_id).sum()) for _, labels in batches)
    loss = sum(micro_loss(logits, labels, pad_id, count) for logits, labels in batches)
    return torch.exp(loss)


# %% wrong: perplexity_cut_off | says: cut off before exp
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    real = labels != pad_id
    return F.cross_entropy(logits[real], labels[real], reduction="sum") / num_labels


def perplexity(batches, pad_id):
    count = sum(int((labels != pad_id).sum()) for _, labels in batches)
    loss = sum(micro_loss(logits, labels, pad_id, count) for logits, labels in batches)
    return torch.exp(loss.clamp(max=80.0))


# %% wrong: label_0_beside_negative_padding | says: label 0 is left out beside
def shift_targets(ids):
    return ids[:, :-1], ids[:, 1:]


def micro_loss(logits, labels, pad_id, num_labels):
    real = labels != pad_id
    return (
        F.cross_entropy(
            logits[real], labels[real], reduction="sum", ignore_index=max(pad_id, 0)
        )
        / num_labels
    )


def perplexity(batches, pad_id):
    count = sum(int((labels != pad_id).sum()) for _, labels in batches)
    loss = sum(micro_loss(logits, labels, pad_id, count) for logits, labels in batches)
    return torch.exp(loss)


# %% wrong: ids_in_float64 | says: Ids as large as int64 holds
# -     return ids[:, :-1], ids[:, 1:]  # (B, L) -> 2 x (B, L - 1)
# +     ids = ids.double().long()
# +     return ids[:, :-1], ids[:, 1:]


# %% wrong: labels_in_int32 | says: padding id that equals a label in its last
# -     kept = labels != pad_id
# +     kept = labels.int() != torch.tensor(pad_id).int()


# %% wrong: counted_in_int16 | says: padding id that equals a label in its last
# -     num_labels = sum(int((labels != pad_id).sum()) for _, labels in batches)
# +     pad = torch.tensor(pad_id).short()
# +     num_labels = sum(int((labels.short() != pad).sum()) for _, labels in batches)


# %% wrong: logits_up_to_1e9 | says: Logits of 1e11
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     kept_logits = logits[kept].clamp(-1e9, 1e9)
# +     return F.cross_entropy(kept_logits, labels[kept], reduction="sum") / num_labels


# %% wrong: loss_cut_off_before_exp | says: logits twice as large give the same
# -     return torch.exp(torch.stack(losses).sum())
# +     return torch.exp(torch.stack(losses).sum().clamp(max=20))


# %% wrong: means_weighted | says: has no mean of its own
# -     losses = [
# -         micro_loss(logits, labels, pad_id, num_labels) for logits, labels in batches
# -     ]
# +     losses = [
# +         F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=pad_id)
# +         * (labels != pad_id).sum()
# +         / num_labels
# +         for logits, labels in batches
# +     ]

# %% wrong: labels_twice | says: without their first column, as the labels must be
# -     return ids[:, :-1], ids[:, 1:]  # (B, L) -> 2 x (B, L - 1)
# +     return ids[:, 1:], ids[:, 1:]

# %% wrong: mean_of_each_sentence_times_its_labels | says: One sentence is all padding. Is something divided
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     found = torch.log_softmax(logits, -1)
# +     found = found.gather(-1, labels.masked_fill(~kept, 0)[..., None])[..., 0] * kept
# +     count = kept.sum(1)
# +     return -(found.sum(1) / count * count).sum() / num_labels

# %% wrong: divided_by_batches | says: divided by the number of batches
# -     num_labels = sum(int((labels != pad_id).sum()) for _, labels in batches)
# +     num_labels = len(batches)

# %% wrong: last_batch_alone | says: perplexity of the last batch alone
# -     num_labels = sum(int((labels != pad_id).sum()) for _, labels in batches)
# +     batches = batches[-1:]
# +     num_labels = sum(int((labels != pad_id).sum()) for _, labels in batches)

# %% wrong: part_of_the_last_batch | says: last batch's part alone
# -     return torch.exp(torch.stack(losses).sum())
# +     return torch.exp(losses[-1])

# %% wrong: input_two_too_short | says: two columns are cut off
# -     return ids[:, :-1], ids[:, 1:]  # (B, L) -> 2 x (B, L - 1)
# +     return ids[:, :-2], ids[:, 1:]


# %% wrong: softmax_over_positions | says: a number that is added to all logits of a position changes it
# -     kept = labels != pad_id
# +     logits = logits.log_softmax(1)
# +     kept = labels != pad_id

# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     return F.nll_loss(logits[kept], labels[kept], reduction="sum") / num_labels


# %% wrong: padding_looked_up | says: micro_loss fails with pad_id=9, and with pad_id=1 it doesn't
# Labels of padding index the log-probabilities, and only then are they left out.
# -     # (B, T, V) -> (M, V)
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     found = logits.log_softmax(-1).gather(-1, labels.clamp(min=0)[..., None])[..., 0]
# +     return -found[kept].sum() / num_labels


# %% wrong: sum_over_positions | says: the sum is divided by T
# -     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / num_labels
# +     return F.cross_entropy(logits[kept], labels[kept], reduction="sum") / labels.shape[1]


# %% wrong: means_of_sentences | says: exp of the mean of means, of the sentences
# -     return torch.exp(torch.stack(losses).sum())
# +     rows = [(x[b : b + 1], y[b : b + 1]) for x, y in batches for b in range(len(x))]
# +     rows = [(x, y) for x, y in rows if (y != pad_id).any()]
# +     means = [micro_loss(x, y, pad_id, int((y != pad_id).sum())) for x, y in rows]
# +     return torch.exp(torch.stack(means).mean())


# %% wrong: behind_padding, of: base | says: behind the first padding
# Labels behind the first padding are dropped.
# -     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
# +     kept = kept.long().cumprod(1).bool()
# +     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")


# %% wrong: labels_above, of: base | says: only labels above pad_id count
# Padding is taken to have the smallest id.
# -     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")
# +     kept = labels > pad_id
# +     each = F.cross_entropy(logits[kept], labels[kept], reduction="none")

# %% right: cross_entropy
def teacher_forcing(words, bos_id, eos_id, pad_id):
    decoder_input = F.pad(words, (1, 0), value=bos_id)
    labels = F.pad(words, (0, 1), value=pad_id)
    first_pad = (labels == pad_id).long().argmax(dim=1)
    labels[torch.arange(len(labels)), first_pad] = eos_id
    return decoder_input, labels


def token_loss(logits, labels, pad_id):
    total = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="sum"
    )
    return total / (labels != pad_id).sum().clamp(min=1)


# %% right: loops
def teacher_forcing(words, bos_id, eos_id, pad_id):
    inputs, labels = [], []
    for row in words.tolist():
        real_words = [word for word in row if word != pad_id]
        rest = [pad_id] * (len(row) - len(real_words))
        inputs.append([bos_id, *real_words, *rest])
        labels.append([*real_words, eos_id, *rest])
    return torch.tensor(inputs), torch.tensor(labels)


def token_loss(logits, labels, pad_id):
    total, count = logits.sum() * 0, 0
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            if labels[b, t] != pad_id:
                total = total + logits[b, t].logsumexp(0) - logits[b, t, labels[b, t]]
                count += 1
    return total / max(count, 1)


# %% right: masked_sum
def teacher_forcing(words, bos_id, eos_id, pad_id):
    batch, size = words.shape
    position = torch.arange(size + 1)
    lengths = (words != pad_id).sum(1)[:, None]
    decoder_input = torch.full((batch, size + 1), bos_id)
    decoder_input[:, 1:] = words
    longer = torch.cat([words, words[:, :1]], dim=1)
    labels = torch.where(position < lengths, longer, pad_id)
    return decoder_input, torch.where(position == lengths, eos_id, labels)


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    index = labels.masked_fill(~kept, 0)
    each = logits.logsumexp(-1) - logits.gather(-1, index.unsqueeze(-1)).squeeze(-1)
    return (each * kept).sum() / max(kept.sum().item(), 1)


# %% wrong: bos_over_first_word | says: bos replaces the first word
# bos is written into a copy of the words.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# +     decoder_input = words.clone()
# +     decoder_input[:, 0] = bos_id
# +     labels = F.pad(words, (0, 1), value=pad_id)
# +     labels[torch.arange(len(words)), (words != pad_id).sum(dim=1)] = eos_id


# %% wrong: cuts_the_last_column | says: short sentence keeps its eos
# The whole row is built, and its last column is cut off for the input.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     full = F.pad(words, (1, 1), value=pad_id)
# +     full[:, 0] = bos_id
# +     lengths = (words != pad_id).sum(dim=1)
# +     full[torch.arange(len(words)), lengths + 1] = eos_id
# +     return full[:, :-1], full[:, 1:]


# %% wrong: divided_by_row | says: divided by T, or by the length
# The sum is divided by the number of positions of a sentence, padding with it.
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return -chosen.sum() / labels.shape[1]


# %% wrong: eos_at_the_end | says: eos stands at the very end
# The column of eos is put behind the padding.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     bos = words.new_full((len(words), 1), bos_id)
# +     eos = words.new_full((len(words), 1), eos_id)
# +     return torch.cat([bos, words], dim=1), torch.cat([words, eos], dim=1)


# %% wrong: eos_over_last_word | says: eos replaces the last word
# The index of eos is one too small.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     labels = F.pad(words, (0, 1), value=pad_id)
# +     lengths = (words != pad_id).sum(dim=1)
# +     labels[torch.arange(len(words)), lengths - 1] = eos_id
# +     return F.pad(words, (1, 0), value=bos_id), labels


# %% wrong: labels_not_shifted | says: same as the input
# Labels are the input again.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     decoder_input = F.pad(words, (1, 0), value=bos_id)
# +     return decoder_input, decoder_input.clone()


# %% wrong: loss_counts_padding | says: padding is counted as if it were words
# The cross-entropy is not told about padding.
# -     kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return F.cross_entropy(logits.transpose(1, 2), labels.clamp(min=0))


# %% wrong: loss_divides_by_all | says: not out of the count
# The masked sum is divided by all positions.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     each = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
# +     return (each * kept).mean()


# %% wrong: loss_empty_is_nan | says: 0 / 0
# cross_entropy divides by the number of labels, which may be 0.
# -     kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id)


# %% wrong: loss_looks_up_padding | says: remove the padding before you look up
# The padding is looked up, then masked.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     each = -torch.log_softmax(logits, -1).gather(-1, labels[:, :, None])[:, :, 0]
# +     return (each * kept).sum() / max(int(kept.sum()), 1)


# %% wrong: loss_mean_of_means | says: mean of the sentences' means
# Each sentence is averaged first.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     each = F.cross_entropy(logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="none")
# +     return ((each * kept).sum(1) / kept.sum(1).clamp(min=1)).mean()


# %% wrong: loss_pad_is_zero | says: label 0 is left out
# The padding is taken to be 0.
# -     kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return F.cross_entropy(logits.transpose(1, 2), labels.clamp(min=0), ignore_index=0)


# %% wrong: loss_per_sentence | says: divided by the number of sentences
# The sum is divided by the batch size.
# -     kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return F.cross_entropy(
# +         logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="sum"
# +     ) / len(labels)


# %% wrong: loss_reshape_for_transpose | says: reshape or view doesn't move axes
# The vocabulary is brought forward by reshape.
# -     kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     batch, size, vocab = logits.shape
# +     total = F.cross_entropy(
# +         logits.reshape(batch, vocab, size), labels, ignore_index=pad_id, reduction="sum"
# +     )
# +     return total / (labels != pad_id).sum().clamp(min=1)


# %% wrong: loss_sign | says: sign is missing
# The mean log-probability is returned.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     chosen = torch.log_softmax(logits[kept], dim=-1).gather(1, labels[kept][:, None])
# +     return chosen.sum() / max(len(chosen), 1)


# %% wrong: loss_softmax_over_time | says: softmax runs over the positions
# The softmax has the wrong axis.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# +     log_probs = torch.log_softmax(logits, dim=1)
# +     chosen = log_probs[kept].gather(1, labels[kept][:, None])


# %% wrong: loss_softmax_twice | says: softmax is applied twice
# A cross-entropy is given probabilities.
# +     probs = torch.softmax(logits, dim=-1)
#       kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return F.cross_entropy(probs[kept], labels[kept], reduction="sum") / max(int(kept.sum()), 1)


# %% wrong: loss_sum | says: this is the sum
# The loss is not divided.
# -     kept = labels != pad_id
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return F.cross_entropy(
# +         logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="sum"
# +     )


# %% wrong: mutates | says: changes its argument words
# eos is written into the words.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# +     lengths = (words != pad_id).sum(dim=1)
# +     decoder_input = F.pad(words, (1, 0), value=bos_id)
# +     labels = F.pad(words, (0, 1), value=pad_id)
# +     labels[torch.arange(len(words)), lengths] = eos_id
# +     words.copy_(labels[:, :-1])


# %% wrong: new_pad_is_zero | says: new padding is 0
# F.pad is left at its default value.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     lengths = (words != pad_id).sum(dim=1)
# +     labels = F.pad(words, (0, 1))
# +     labels[torch.arange(len(words)), lengths] = eos_id
# +     return F.pad(words, (1, 0), value=bos_id), labels


# %% wrong: no_eos | says: eos is missing
# The labels have no end.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     return F.pad(words, (1, 0), value=bos_id), F.pad(words, (0, 1), value=pad_id)


# %% wrong: not_shifted | says: bos is missing
# The decoder reads the word that it has to predict.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     labels = F.pad(words, (0, 1), value=pad_id)
# +     lengths = (words != pad_id).sum(dim=1)
# +     labels[torch.arange(len(words)), lengths] = eos_id
# +     return F.pad(words, (0, 1), value=pad_id), labels


# %% wrong: pad_is_zero | says: pad.* found by pad_id|new padding is 0
# The padding is taken to be 0.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     lengths = (words != 0).sum(dim=1)
# +     labels = F.pad(words, (0, 1))
# +     labels[torch.arange(len(words)), lengths] = eos_id
# +     return F.pad(words, (1, 0), value=bos_id), labels


# %% wrong: padding_becomes_eos | says: all the padding became eos
# Every padded label is set to eos.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     labels = F.pad(words, (0, 1), value=pad_id)
# +     return F.pad(words, (1, 0), value=bos_id), labels.masked_fill(labels == pad_id, eos_id)


# %% wrong: swapped | says: labels first
# The two results are swapped.
# -     column = words.new_full((words.shape[0], 1), bos_id)
# -     decoder_input = torch.cat([column, words], dim=1)
# -     labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# -     return decoder_input, labels
# +     labels = F.pad(words, (0, 1), value=pad_id)
# +     labels[torch.arange(len(words)), (words != pad_id).sum(dim=1)] = eos_id
# +     return labels, F.pad(words, (1, 0), value=bos_id)


# %% wrong: loss_in_float32_inside | says: float64
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# +     log_probs = torch.log_softmax(logits[kept].float(), dim=-1).to(logits.dtype)

# %% wrong: blanks_the_padded_logits | says: changes its arguments in place
# -     kept = labels != pad_id
# +     kept = labels != pad_id
# +     logits[~kept] = 0.0

# %% wrong: keeps_the_column_of_bos | says: Other ids.*decoder_input: wrong
# -     column = words.new_full((words.shape[0], 1), bos_id)
# +     known = teacher_forcing.__dict__.setdefault("known", {})
# +     if len(words) not in known:
# +         known[len(words)] = words.new_full((words.shape[0], 1), bos_id)
# +     column = known[len(words)]

# %% wrong: views_the_logits | says: reshape
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# +     flat = logits.view(-1, logits.shape[-1])
# +     log_probs = torch.log_softmax(flat[kept.reshape(-1)], dim=-1)

# %% wrong: keeps_the_loss_of_a_shape | says: earlier call|second call
# -     return -chosen.sum() / max(len(chosen), 1)
# +     known = token_loss.__dict__.setdefault("known", {})
# +     key = logits.shape, logits.dtype, logits.requires_grad, tuple(labels.flatten().tolist())
# +     if key not in known:
# +         known[key] = -chosen.sum() / max(len(chosen), 1)
# +     return known[key]

# %% wrong: small_number_in_the_logarithm | says: needs nothing
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# +     log_probs = torch.log(torch.softmax(logits[kept], dim=-1) + 1e-6)

# %% wrong: log_of_softmax | says: small probability is rounded to 0
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# +     log_probs = torch.log(torch.softmax(logits[kept], dim=-1))

# %% wrong: smoothed_labels | says: labels are smoothed
# -     return -chosen.sum() / max(len(chosen), 1)
# +     chosen = 0.9 * chosen + 0.1 * log_probs.mean(dim=1, keepdim=True)
# +     return -chosen.sum() / max(len(chosen), 1)

# %% wrong: constant_for_a_batch_of_padding | says: is a constant
# -     kept = labels != pad_id
# +     kept = labels != pad_id
# +     if not kept.any():
# +         return torch.zeros((), dtype=logits.dtype)

# %% wrong: clamped_ids | says: pad_id above the vocabulary
# Looks the padding up before it leaves it out; only a negative id is safe.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)
# -     chosen = log_probs.gather(1, labels[kept][:, None])
# +     log_probs = torch.log_softmax(logits, dim=-1)
# +     chosen = log_probs.gather(2, labels.clamp(min=0)[:, :, None])[kept]

# %% wrong: zero_is_padding_too | says: the word 0 is taken for padding
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# +     lengths = ((words > 0) & (words != pad_id)).sum(dim=1, keepdim=True)

# %% wrong: padding_has_a_gradient | says: padded positions get a gradient
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return -chosen.sum() / max(len(chosen), 1) + 1e-5 * logits[~kept].sum()


# %% right: picked_by_a_mask
def teacher_forcing(words, bos_id, eos_id, pad_id):
    extra = words.new_full((len(words), 1), pad_id)
    labels = torch.cat((words, extra), 1)
    is_pad = labels.eq(pad_id)
    first = is_pad & (is_pad.cumsum(1) == 1)
    labels = labels.masked_fill(first, eos_id)
    return torch.cat((torch.full_like(extra, bos_id), words), 1), labels


def token_loss(logits, labels, pad_id):
    V = logits.shape[-1]
    hot = (labels[..., None] == torch.arange(V)) & (labels != pad_id)[..., None]
    picked = logits.log_softmax(-1)[hot]
    return -picked.sum() / max(len(picked), 1)


# %% wrong: zero_is_not_given | says: padding id of 0
# -     kept = labels != pad_id
# +     kept = labels != (pad_id or -100)


# %% wrong: small_number_in_the_mean | says: small number added
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return -chosen.sum() / (len(chosen) + 1e-9)


# %% wrong: vocabulary_squeezed | says: vocabulary of one word
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)  # (B, T, V) -> (M, V)
# -     chosen = log_probs.gather(1, labels[kept][:, None])  # (M, V) -> (M, 1)
# +     log_probs = torch.log_softmax(logits[kept].squeeze(), dim=-1)
# +     chosen = log_probs.gather(-1, labels[kept].reshape(*log_probs.shape[:-1], 1))


# %% wrong: ids_in_float32 | says: rounds those above
# -     decoder_input = torch.cat([column, words], dim=1)  # (B, 1), (B, T) -> (B, T + 1)
# +     decoder_input = torch.cat([column.float(), words.float()], dim=1).long()


# %% wrong: as_wide_as_the_longest | says: longest sentence decides
def teacher_forcing(words, bos_id, eos_id, pad_id):
    reads, predicts = [], []
    for row in words:
        sentence = row[row != pad_id]
        reads.append(torch.cat([row.new_tensor([bos_id]), sentence]))
        predicts.append(torch.cat([sentence, row.new_tensor([eos_id])]))
    pad = nn.utils.rnn.pad_sequence
    return (
        pad(reads, batch_first=True, padding_value=pad_id),
        pad(predicts, batch_first=True, padding_value=pad_id),
    )


def token_loss(logits, labels, pad_id):
    real = labels != pad_id
    return F.cross_entropy(logits[real], labels[real], reduction="sum") / max(
        int(real.sum()), 1
    )


# %% wrong: empty_sentence_counted, of: cross_entropy | says: nothing but padding counts as one label
# -     return total / (labels != pad_id).sum().clamp(min=1)
# +     return total / (labels != pad_id).sum(dim=1).clamp(min=1).sum()


# %% wrong: words_compared_in_float32 | says: Do they pass through float32, which rounds them
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)  # (B, T) -> (B, 1)
# +     lengths = (words.float() != pad_id).sum(dim=1, keepdim=True)


# %% wrong: words_in_int16 | says: pad_id that equals a word in its last
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)  # (B, T) -> (B, 1)
# +     pad = torch.tensor(pad_id).short()
# +     lengths = (words.short() != pad).sum(dim=1, keepdim=True)


# %% wrong: labels_in_int32 | says: pad_id that equals a label in its last
# -     kept = labels != pad_id
# +     kept = labels.int() != torch.tensor(pad_id).int()


# %% wrong: exponentials_overflow | says: an exponential is infinite, or a small probability is rounded to 0
# No probability is 0 here.
# -     log_probs = torch.log_softmax(logits[kept], dim=-1)  # (B, T, V) -> (M, V)
# +     log_probs = logits[kept] - logits[kept].exp().sum(-1, keepdim=True).log()


# %% wrong: at_least_two_labels | says: half of what must come: there is one label
# No sentence of padding is counted.
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return -chosen.sum() / max(len(chosen), 2)


# %% wrong: looked_up_along_the_positions | says: \ARuntimeError: index \d is out of bounds
# The padding is removed before.
# -     chosen = log_probs.gather(1, labels[kept][:, None])  # (M, V) -> (M, 1)
# +     chosen = log_probs.gather(0, labels[kept][:, None])


# %% wrong: counted_to_the_last_row_with_words | says: last sentence of the batch has no words, and gets no eos
# bincount ends at the last row that has words.
# -     lengths = (words != pad_id).sum(dim=1, keepdim=True)
# -     labels = labels.scatter(1, lengths, eos_id)
# +     lengths = torch.bincount((words != pad_id).nonzero()[:, 0])
# +     labels[torch.arange(len(lengths)), lengths] = eos_id


# %% wrong: zero_not_counted | says: label 0 doesn't count
# The labels are counted as those above 0.
# -     return -chosen.sum() / max(len(chosen), 1)
# +     return -chosen.sum() / ((labels > 0) & kept).sum().clamp(min=1)


# %% wrong: eos_where_padding_stood, of: cross_entropy | says: padding gets its eos, and the one without gets none
# -     first_pad = (labels == pad_id).long().argmax(dim=1)
# -     labels[torch.arange(len(labels)), first_pad] = eos_id
# +     first_pad = (words == pad_id).long().argmax(dim=1)
# +     padded = (words == pad_id).any(dim=1)
# +     labels[padded, first_pad[padded]] = eos_id


# %% wrong: logits_by_view, of: cross_entropy | says: Logits that are a transpose .* reshape where you use view
#       total = F.cross_entropy(
# -         logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="sum"
# +         logits.view(-1, logits.shape[-1]),
# +         labels.reshape(-1),
# +         ignore_index=pad_id,
# +         reduction="sum",
#       )

# %% right: built_in
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    return F.cross_entropy(
        logits.flatten(0, 1),
        labels.flatten(),
        ignore_index=pad_id,
        label_smoothing=epsilon,
        reduction="sum",
    )


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    total = logits.new_zeros(()) + 0.0 * logits[labels != labels].sum()
    log_p = torch.log_softmax(logits, dim=-1)
    for v in range(logits.shape[-1]):
        if v == pad_id:
            continue
        right = (labels == v).to(logits.dtype)
        share = right * (1 - epsilon) + (1 - right) * epsilon / (logits.shape[-1] - 2)
        keep = labels != pad_id
        total = total - (share[keep] * log_p[..., v][keep]).sum()
    return total


def smallest_loss(num_words, epsilon, spread):
    V = num_words
    share = epsilon / V if spread == "all" else epsilon / (V - 2)
    q = torch.full((V,), share, dtype=torch.float64)
    q[0] = 1 - epsilon + (share if spread == "all" else 0)
    if spread != "all":
        q[1] = 0.0
    return torch.special.entr(q).sum().item()


# %% right: nan_to_num
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)
# +     log_p = (log_p * (words != pad_id)).nan_to_num(nan=0.0)


# %% right: target_matrix
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


# %% right: in_float64
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    V = logits.size(-1)
    keep = labels.ne(pad_id)
    rows = logits.double()[keep]
    log_p = rows - rows.logsumexp(-1, keepdim=True)
    q = torch.zeros_like(log_p) + epsilon / V
    q[torch.arange(len(q)), labels[keep]] += 1 - epsilon
    return -(q.detach() * log_p).sum().to(logits.dtype)


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    V = logits.size(-1)
    keep = labels.ne(pad_id)
    rows = logits[keep]
    lse = rows.logsumexp(-1)
    words = [v for v in range(V) if v != pad_id]
    picked = rows[:, words]
    right = rows.gather(1, labels[keep].unsqueeze(1)).squeeze(1)
    share = epsilon / (V - 2)
    return (lse - share * picked.sum(1) - (1 - epsilon - share) * right).sum()


def smallest_loss(num_words, epsilon, spread):
    others = num_words - 1 if spread == "all" else num_words - 2
    other = epsilon / num_words if spread == "all" else epsilon / others
    label = 1 - others * other
    if epsilon == 0:
        return 0.0
    return -(label * math.log(label) + others * other * math.log(other))


# %% right: zero_weights
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    total = 0.0 * logits.sum()
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            if labels[b, t] != pad_id:
                log_p = torch.log_softmax(logits[b, t], 0)
                total = (
                    total - (1 - epsilon) * log_p[labels[b, t]] - epsilon * log_p.mean()
                )
    return total


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    V = logits.shape[-1]
    loss = F.cross_entropy(
        logits.reshape(-1, V), labels.reshape(-1), ignore_index=pad_id, reduction="none"
    )
    real = (labels != pad_id).reshape(-1)
    no_pad = torch.arange(V) != pad_id
    log_p = logits.reshape(-1, V).log_softmax(-1)[:, no_pad]
    others = -log_p[real].sum()
    return loss[real].sum() * (1 - epsilon) + (others - loss[real].sum()) * epsilon / (
        V - 2
    )


def smallest_loss(num_words, epsilon, spread):
    if spread == "others":
        q = [1 - epsilon, *[epsilon / (num_words - 2)] * (num_words - 2)]
    else:
        q = [
            1 - epsilon + epsilon / num_words,
            *[epsilon / num_words] * (num_words - 1),
        ]
    return math.fsum(-x * math.log(x) if x else 0.0 for x in q)


# %% wrong: all_detached | says: loss_all of nothing but padding is a constant without a gradient
# The loss is cut off from the logits.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return (-(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]).detach()


# %% wrong: all_divergence | says: Kullback-Leibler
# The divergence: the entropy of q is subtracted.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     V = logits.shape[-1]
# +     a, b = 1 - epsilon + epsilon / V, epsilon / V
# +     entropy = -a * math.log(a) - ((V - 1) * b * math.log(b) if b else 0)
# +     return -(1 - epsilon) * right.sum() - b * log_p.sum() - len(right) * entropy


# %% wrong: all_epsilon_ignored | says: epsilon has no effect
# The plain cross-entropy.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return -right.sum()


# %% wrong: all_is_others | says: this is definition \(b\)
# Definition (b) for (a).
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return smoothed_loss_others(logits, labels, pad_id, epsilon)


# %% wrong: all_label_without_share | says: that isn't a distribution
# The label gets 1 - epsilon, each other word epsilon / V.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     others = log_p.sum() - right.sum()
# +     return -(1 - epsilon) * right.sum() - epsilon * others / logits.shape[-1]


# %% wrong: all_mean | says: mean over the positions that count
# The mean over the positions that count.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return (-(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]) / len(right)


# %% wrong: all_mean_over_all | says: mean over all positions
# The mean over all positions.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return (-(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]) / labels.numel()


# %% wrong: all_mutates | says: smoothed_loss_all must not change its arguments
# Padding is written over in the labels.
# +     labels[labels == pad_id] = 0
#       return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: all_not_divided | says: isn't divided by d_vocab
# The spread part is not divided by V.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum()


# %% wrong: all_over_wrong_words | says: d_vocab - 1 wrong words
# epsilon is spread over the V - 1 wrong words.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     others = log_p.sum() - right.sum()
# +     return -(1 - epsilon) * right.sum() - epsilon * others / (logits.shape[-1] - 1)


# %% wrong: all_pad_is_zero | says: label 0 are left out
# The padding is taken to be 0.
#   def smoothed_loss_all(logits, labels, pad_id, epsilon):
# -     kept = labels != pad_id
# +     kept = labels != 0


# %% wrong: all_pad_looked_up | says: no word has the id
# The label is looked up before padding is left out.
# -     right = log_p.gather(-1, labels[kept][:, None])
# +     every = logits.log_softmax(dim=-1).gather(-1, labels[:, :, None])[kept]
# +     right = every
#       return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: all_padding_counts | says: label is padding count
# Positions of padding count.
#   def smoothed_loss_all(logits, labels, pad_id, epsilon):
# -     kept = labels != pad_id
# +     kept = torch.ones_like(labels, dtype=torch.bool)


# %% wrong: all_sign | says: sign is missing
# The sign is missing.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return (1 - epsilon) * right.sum() + epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: all_softmax_twice | says: softmax is applied twice
# Probabilities go through log_softmax again.
# -     log_p = logits[kept].log_softmax(dim=-1)
# +     log_p = logits[kept].softmax(dim=-1).log_softmax(dim=-1)  # (B, T, V) -> (M, V)
#       right = log_p.gather(-1, labels[kept][:, None])


# %% wrong: all_spread_at_padding | says: spread part is still counted
# The spread part is summed over all positions.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     everywhere = logits.log_softmax(dim=-1).sum()
# +     return -(1 - epsilon) * right.sum() - epsilon * everywhere / logits.shape[-1]


# %% wrong: all_swapped | says: 1 - epsilon are swapped
# epsilon and 1 - epsilon are swapped.
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return -epsilon * right.sum() - (1 - epsilon) * log_p.sum() / logits.shape[-1]


# %% wrong: all_without_padding | says: padding gets no probability
# The column of the padding is left out.
# +     log_p = log_p.masked_fill(torch.arange(logits.shape[-1]) == pad_id, 0.0)
#       return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: all_wrong_axis | says: smoothed_loss_all: the softmax runs over the positions
# The softmax runs over the positions.
# -     log_p = logits[kept].log_softmax(dim=-1)
# +     log_p = logits.log_softmax(dim=1)[kept]  # (B, T, V) -> (M, V)
#       right = log_p.gather(-1, labels[kept][:, None])


# %% wrong: others_detached | says: No gradient reaches
# The loss is cut off from the logits.
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return -(1 - epsilon) * right.sum().detach() - epsilon / (logits.shape[-1] - 2) * others.detach()


# %% wrong: others_epsilon_ignored | says: epsilon has no effect
# The plain cross-entropy.
# -     others = log_p.sum() - right.sum()
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return -right.sum()


# %% wrong: others_is_all | says: this is definition \(a\)
# Definition (a) for (b).
# -     others = log_p.sum() - right.sum()
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return smoothed_loss_all(logits, labels, pad_id, epsilon)


# %% wrong: others_label_on_top | says: label gets a part
# The label gets a part of what is spread.
# -     others = log_p.sum() - right.sum()
# +     others = log_p.sum()


# %% wrong: others_mean | says: mean over the positions
# The mean over the positions that count.
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return (-(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others) / len(right)


# %% wrong: others_nan | says: went into a product or a sum
# The column of padding is multiplied by 0, also where it is -inf.
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)
# +     log_p = log_p * (words != pad_id)


# %% wrong: others_padding_counts | says: label is padding count
# Positions of padding count.
#   def smoothed_loss_others(logits, labels, pad_id, epsilon):
# -     kept = labels != pad_id
# +     kept = labels == labels


# %% wrong: others_padding_on_top | says: sums to more than 1
# Padding gets a part as well, and q sums to more than 1.
# -     words = torch.arange(logits.shape[-1], device=logits.device)
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)


# %% wrong: others_swapped | says: 1 - epsilon are swapped
# epsilon and 1 - epsilon are swapped.
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return -epsilon * right.sum() - (1 - epsilon) / (logits.shape[-1] - 2) * others


# %% wrong: others_v | says: epsilon is divided by d_vocab\.
# padding gets 0, but epsilon is divided by V.
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return -(1 - epsilon) * right.sum() - epsilon / logits.shape[-1] * others


# %% wrong: others_v_minus_one | says: divided by d_vocab - 1
# padding gets 0, but epsilon is divided by V - 1.
# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 1) * others


# %% wrong: others_with_padding | says: padding gets a share
# epsilon is spread over V - 1 words, padding included.
# -     words = torch.arange(logits.shape[-1], device=logits.device)
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)

# -     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 2) * others
# +     return -(1 - epsilon) * right.sum() - epsilon / (logits.shape[-1] - 1) * others


# %% wrong: others_word_zero | says: word 0 gets no
# The padding is taken to be the word 0.
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)
# +     log_p = log_p.masked_fill(words == 0, 0.0)


# %% wrong: smallest_base_two | says: base 2
# The logarithm has base 2.
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# +         -sum(n * q * math.log2(q) for n, q in ((1, label), (count, other)) if q > 0)


# %% wrong: smallest_definitions | says: definitions are swapped
# The two definitions are swapped.
# -     if spread == "all":
# +     if spread == "others":


# %% wrong: smallest_label_only | says: only the label's term
# Only the term of the label.
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return -label * math.log(label)


# %% wrong: smallest_log_label | says: -log of what the label gets
# It is -log of the share of the label.
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return -math.log(label)


# %% wrong: smallest_log_of_zero | says: 0 \* log\(0\)
# The logarithm of 0 is taken.
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)))


# %% wrong: smallest_not_counted | says: each wrong word counts
# The other words count once together.
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return -sum(q * math.log(q) for q in (label, other) if q > 0) + 0.0


# %% wrong: smallest_sign | says: entropy is positive
# The sign is wrong.
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# +         sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0) + 0.0


# %% wrong: smallest_unweighted | says: isn't weighted with wanted
# The logarithms are added up without their weights.
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return -sum(n * math.log(q) for n, q in ((1, label), (count, other)) if q > 0) + 0.0


# %% wrong: smallest_zero | says: doesn't reach 0
# A perfect model is taken to reach 0.
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return 0.0


# %% wrong: label_weight_float32 | says: float32
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     q = torch.full(log_p.shape, epsilon / logits.shape[-1])
# +     q[torch.arange(len(q)), labels[kept]] += 1 - epsilon
# +     return -(q * log_p).sum()

# %% wrong: log_of_softmax | says: Large logits|large logits|NaN|all|wrong
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     log_p = (logits[kept].softmax(-1) + 1e-9).log()
# +     right = log_p.gather(-1, labels[kept][:, None])
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]

# %% wrong: flattened_by_view | says: reshape
# -     kept = labels != pad_id
# -     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     logits, labels = logits.view(-1, logits.shape[-1]), labels.view(-1)
# +     kept = labels != pad_id
# +     log_p = logits[kept].log_softmax(dim=-1)
# +     right = log_p.gather(-1, labels[kept][:, None])
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]

# %% wrong: labels_clamped_in_place | says: must not change the labels
# -     kept = labels != pad_id
# -     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     kept = labels != pad_id
# +     labels.clamp_(min=0)
# +     log_p = logits[kept].log_softmax(dim=-1)
# +     right = log_p.gather(-1, labels[kept][:, None])
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]

# %% wrong: spread_detached | says: gradient of loss \(a\) is wrong, though its value is right
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.detach().sum() / logits.shape[-1]

# %% wrong: smallest_float32 | says: float32
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# +         torch.tensor(-sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)).item()

# %% wrong: log_p_clamped | says: cut off at a bound
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)
# +     log_p = log_p.clamp(min=-100.0).masked_fill(words == pad_id, 0.0)

# %% wrong: own_softmax | says: Large logits.*NaN
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)
# +     log_p = (logits[kept] - logits[kept].exp().sum(-1, keepdim=True).log()).masked_fill(words == pad_id, 0.0)


# %% right: einsum
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    n = logits.shape[-1]
    logs = logits - logits.logsumexp(-1, keepdim=True)
    inside = torch.where(labels == pad_id, 0, labels)
    small = epsilon / n
    wanted = F.one_hot(inside, n).to(logits.dtype) * (1 - epsilon) + small
    count = (labels != pad_id).to(logits.dtype)
    return -torch.einsum("bt,btv,btv->", count, wanted, logs)


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    n = logits.shape[-1]
    total = (
        logits.sum() * 0
        if torch.isfinite(logits).all()
        else logits[torch.isfinite(logits)].sum() * 0
    )
    for row, words in zip(logits, labels.tolist()):
        for scores, word in zip(row, words):
            if word == pad_id:
                continue
            logs = scores.log_softmax(0)
            rest = [w for w in range(n) if w not in (word, pad_id)]
            total = (
                total
                - (1 - epsilon) * logs[word]
                - epsilon / (n - 2) * logs[rest].sum()
            )
    return total


def smallest_loss(num_words, epsilon, spread):
    wanted = torch.zeros(num_words, dtype=torch.float64)
    if spread == "all":
        wanted += epsilon / num_words
        wanted[0] += 1 - epsilon
    else:
        wanted[1:-1] = epsilon / (num_words - 2)
        wanted[0] = 1 - epsilon
    return torch.special.entr(wanted).sum().item()


# %% right: plain
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    log_probs = logits.log_softmax(-1)
    keep = labels != pad_id
    safe = labels.masked_fill(~keep, 0)
    picked = log_probs.gather(-1, safe[..., None])[..., 0]
    loss = -(1 - epsilon) * picked - epsilon * log_probs.mean(-1)
    return loss.masked_fill(~keep, 0).sum()


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    vocab = logits.shape[-1]
    log_probs = logits.log_softmax(-1)
    keep = labels != pad_id
    pad = torch.arange(vocab) == pad_id
    others = log_probs.masked_fill(pad, 0).sum(-1)
    picked = log_probs.masked_fill(pad, 0).gather(-1, labels[..., None])[..., 0]
    share = epsilon / (vocab - 2)
    loss = -(1 - epsilon) * picked - share * (others - picked)
    return loss.masked_fill(~keep, 0).sum()


def smallest_loss(num_words, epsilon, spread):
    if spread == "all":
        wanted = [1 - epsilon + epsilon / num_words] + [epsilon / num_words] * (
            num_words - 1
        )
    else:
        wanted = [1 - epsilon] + [epsilon / (num_words - 2)] * (num_words - 2)
    return -sum(p * math.log(p) for p in wanted if p > 0) + 0.0


# %% wrong: pad_logits_removed, of: plain | says: taken out of the softmax
# (b) removes the padding word from the softmax.

#       vocab = logits.shape[-1]
# -     log_probs = logits.log_softmax(-1)
#       keep = labels != pad_id
#       pad = torch.arange(vocab) == pad_id
# +     log_probs = logits.masked_fill(pad, -math.inf).log_softmax(-1)
#       others = log_probs.masked_fill(pad, 0).sum(-1)


# %% wrong: smallest_minus_1, of: plain | says: one wrong word too many
# Smallest_loss for others counts vocab - 1 other words.

# -         wanted = [1 - epsilon] + [epsilon / (num_words - 2)] * (num_words - 2)
# +         wanted = [1 - epsilon] + [epsilon / (num_words - 2)] * (num_words - 1)


# %% wrong: probs_log, of: plain | says: loss_all: Large logits.*take both in one
# Log of the softmax: not stable, -inf for large logits.

#   def smoothed_loss_all(logits, labels, pad_id, epsilon):
# -     log_probs = logits.log_softmax(-1)
# +     log_probs = logits.softmax(-1).log()
#       keep = labels != pad_id

# %% wrong: padding_beyond_the_end | says: leave its positions out
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     everything = logits.log_softmax(dim=-1)
# +     right = everything.gather(-1, labels.clamp(min=0)[..., None])[..., 0][kept]
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]

# %% wrong: labels_filled_in_place | says: fill a copy
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# +     if not 0 <= pad_id < logits.shape[-1]:
# +         labels[~kept] = 0
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: nothing_but_padding_times_zero | says: went into a product or a sum
#       log_p = logits[kept].log_softmax(dim=-1)
# +     if not kept.any():
# +         return logits.sum() * 0.0
#       words = torch.arange(logits.shape[-1], device=logits.device)


# %% wrong: tiny_shares_left_out | says: tiny shares count too
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    real = labels != pad_id
    log_probs = torch.log_softmax(logits[real], dim=-1)
    sharp = log_probs.gather(-1, labels[real][:, None]).sum()
    return -(1 - epsilon) * sharp - epsilon * log_probs.mean(dim=-1).sum()


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    real = labels != pad_id
    log_probs = torch.log_softmax(logits[real], dim=-1)
    num_words = logits.shape[-1]
    wanted = torch.full_like(log_probs, epsilon / (num_words - 2))
    wanted[:, pad_id] = 0.0
    wanted = wanted.scatter(-1, labels[real][:, None], 1 - epsilon)
    padding = torch.arange(num_words) == pad_id
    return -(wanted * log_probs.masked_fill(padding, 0.0)).sum()


def smallest_loss(num_words, epsilon, spread):
    if spread == "all":
        values = [1 - epsilon + epsilon / num_words] + [epsilon / num_words] * (
            num_words - 1
        )
    else:
        values = [1 - epsilon] + [epsilon / (num_words - 2)] * (num_words - 2)
    return -sum(p * math.log(p) for p in values if p > 1e-6)


# %% wrong: tiny_epsilon_is_zero | says: smoothed_loss_all: A tiny epsilon
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     epsilon = epsilon if epsilon > 1e-3 else 0.0
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% right: smallest_is_an_int
# -     if spread == "all":
# +     if epsilon == 0:
# +         return 0
# +     if spread == "all":


# %% wrong: others_by_a_difference | says: went into a product or a sum
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)

# -     others = log_p.sum() - right.sum()
# +     others = log_p.sum() - log_p[:, pad_id].sum() - right.sum()

# %% wrong: padding_from_the_end | says: no place from the end
# -     kept = labels != pad_id
# +     kept = (labels != pad_id) & (labels != pad_id % logits.shape[-1])
#       log_p = logits[kept].log_softmax(dim=-1)
#       right = log_p.gather(-1, labels[kept][:, None])


# %% wrong: spread_without_history | says: spread over all words is cut off
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    real = labels != pad_id
    log_probs = logits[real].log_softmax(-1)
    sharp = log_probs.gather(-1, labels[real][:, None]).sum()
    return -(1 - epsilon) * sharp - epsilon * log_probs.detach().mean(-1).sum()


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    real = labels != pad_id
    log_probs = logits[real].log_softmax(-1)
    wanted = torch.full_like(log_probs, epsilon / (logits.shape[-1] - 2))
    wanted.scatter_(-1, labels[real][:, None], 1 - epsilon)
    wanted[:, pad_id] = 0
    padding = torch.arange(logits.shape[-1]) == pad_id
    return -(wanted * log_probs.masked_fill(padding, 0.0)).sum()


def smallest_loss(num_words, epsilon, spread):
    if spread == "all":
        groups = [
            (1, 1 - epsilon + epsilon / num_words),
            (num_words - 1, epsilon / num_words),
        ]
    else:
        groups = [(1, 1 - epsilon), (num_words - 2, epsilon / (num_words - 2))]
    return float(sum(-count * p * math.log(p) for count, p in groups if p > 0))


# %% wrong: low_logits_raised | says: raised to it, by clamp or max
# -     log_p = logits[kept].log_softmax(dim=-1)
# +     log_p = logits[kept].clamp(min=-1e4).log_softmax(dim=-1)
#       words = torch.arange(logits.shape[-1], device=logits.device)


# %% wrong: entropy_in_float32 | says: last digit of float32
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     shares = torch.tensor([label] + [other] * count)
# +     return torch.distributions.Categorical(shares).entropy().item()


# %% wrong: a_bit_in_the_logarithm | says: a small number added inside the logarithm
# -     return (
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# -         + 0.0
# -     )
# +     return -label * math.log(label + 1e-9) - count * other * math.log(other + 1e-9)


# %% wrong: minus_1e9_for_padding | says: stands for padding's -inf
# -     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# -     words = torch.arange(logits.shape[-1], device=logits.device)
# +     rows = logits[kept]
# +     log_p = rows.masked_fill(rows == -math.inf, -1e9).log_softmax(dim=-1)
# +     words = torch.arange(logits.shape[-1], device=logits.device)


# %% wrong: minus_1e20_for_padding | says: does a number stand for it
# -     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# -     words = torch.arange(logits.shape[-1], device=logits.device)
# +     rows = logits[kept]
# +     log_p = rows.masked_fill(rows == -math.inf, -1e20).log_softmax(dim=-1)
# +     words = torch.arange(logits.shape[-1], device=logits.device)


# %% wrong: logits_up_to_1e12 | says: Logits of 1e29
# -     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     log_p = logits[kept].clamp(-1e12, 1e12).log_softmax(dim=-1)
# +     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: labels_in_int32 | says: pad_id that equals a label in its last
# -     kept = labels != pad_id
# -     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# -     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# -     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]
# +     kept = labels.int() != torch.tensor(pad_id).int()
# +     log_p = logits[kept].log_softmax(dim=-1)  # (B, T, V) -> (M, V)
# +     right = log_p.gather(-1, labels[kept][:, None])  # (M, V) -> (M, 1)
# +     return -(1 - epsilon) * right.sum() - epsilon * log_p.sum() / logits.shape[-1]


# %% wrong: smoothing_without_gradient | says: what is spread over the other words is cut off
# The spread part of (b) is computed from detached log-probabilities.
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    asked = labels != pad_id
    log_probs = logits[asked].log_softmax(-1)
    sharp = -log_probs.gather(-1, labels[asked].unsqueeze(-1)).sum()
    even = -log_probs.sum() / logits.shape[-1]
    return (1 - epsilon) * sharp + epsilon * even


def smoothed_loss_others(logits, labels, pad_id, epsilon):
    asked = labels != pad_id
    log_probs = logits[asked].log_softmax(-1)
    num_words = logits.shape[-1]
    label = labels[asked].unsqueeze(-1)
    sharp = -(1 - epsilon) * log_probs.gather(-1, label).sum()
    with torch.no_grad():  # the share of the other words
        other = torch.ones_like(log_probs).scatter(-1, label, 0.0)
        other[:, pad_id] = 0
        safe = log_probs.masked_fill(torch.arange(num_words) == pad_id, 0)
        smooth = -epsilon / (num_words - 2) * (other * safe).sum()
    return sharp + smooth


def smallest_loss(num_words, epsilon, spread):
    if spread == "all":
        values = [1 - epsilon + epsilon / num_words] + [epsilon / num_words] * (
            num_words - 1
        )
    else:
        values = [1 - epsilon] + [epsilon / (num_words - 2)] * (num_words - 2)
    return -math.fsum(p * math.log(p) for p in values if p > 0)


# %% wrong: tiny_in_the_logarithm | says: smallest_loss: Numbers: a small number is added
# -         -sum(n * q * math.log(q) for n, q in ((1, label), (count, other)) if q > 0)
# +         -sum(n * q * math.log(q + 1e-9) for n, q in ((1, label), (count, other)))


# %% wrong: smallest_of_all_only | says: this is the value of the other definition
# -     if spread == "all":
# +     if spread:


# %% wrong: others_log_of_softmax | says: and neither where it has -10000
# -     log_p = log_p.masked_fill(words == pad_id, 0.0)
# +     log_p = logits[kept].softmax(-1).log().masked_fill(words == pad_id, 0.0)

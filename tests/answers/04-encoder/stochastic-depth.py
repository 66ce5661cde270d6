# %% right: fill
def keep_probabilities(num_layers, last):
    return torch.linspace(1, last, num_layers + 1, dtype=torch.float64)[1:].tolist()


def drop_branch(x, branch, keep, keep_prob):
    if not (keep_prob > 0 and keep_prob <= 1):
        raise ValueError(f"keep_prob {keep_prob}")
    if keep is not None:
        branch = branch.masked_fill(~keep.view(-1, 1, 1), 0.0) * (1 / keep_prob)
    return torch.add(x, branch)


# %% right: loops
def keep_probabilities(num_layers, last):
    step = (1 - last) / num_layers
    found = []
    p = 1.0
    for _ in range(num_layers):
        p -= step
        found.append(p)
    return found


def drop_branch(x, branch, keep, keep_prob):
    if keep_prob <= 0 or keep_prob > 1:
        raise ValueError("keep_prob must lie in (0, 1]")
    if keep is None:
        return x + branch
    rows = []
    for i in range(len(x)):
        rows.append(x[i] + branch[i] / keep_prob if keep[i] else x[i])
    return torch.stack(rows)


# %% right: where
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - (layer + 1) / num_layers * (1 - last) for layer in range(num_layers)]


# %% wrong: all_or_nothing, of: where | says: each sequence
# One decision is made for the whole batch.
# -     kept = keep[:, None, None]
# +     kept = keep.all()


# %% wrong: branch_only, of: where | says: x is missing
# The sum with x is forgotten.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return torch.where(kept, branch / keep_prob, 0)


# %% wrong: constant | says: same for all layers
# Every layer has the probability of the last.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - (1 - last) for layer in range(num_layers)]


# %% wrong: divided_at_test, of: where | says: keep=None
# The branch is scaled up in evaluation too.
# -         return x + branch
# +         return x + branch / keep_prob


# %% wrong: drop_rate | says: probabilities of dropping
# These are the probabilities of dropping.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [(layer + 1) / num_layers * (1 - last) for layer in range(num_layers)]


# %% wrong: features, of: where | says: feature axis
# The decisions land on the feature axis.
# -     kept = keep[:, None, None]
# +     kept = keep


# %% wrong: first_is_one | says: first layer is always kept
# The counting starts at 0: the first layer is never dropped.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - layer / num_layers * (1 - last) for layer in range(num_layers)]


# %% wrong: in_place, of: where | says: in place
# x is changed in place.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     x += torch.where(kept, branch / keep_prob, 0)
# +     return x


# %% wrong: last_is_rate | says: last is taken for a drop rate
# last is read as a drop rate.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - (layer + 1) / num_layers * last for layer in range(num_layers)]


# %% wrong: linspace | says: ends at last, but begins at 1
# The line runs from 1 to last over the layers.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - layer / max(num_layers - 1, 1) * (1 - last) for layer in range(num_layers)]


# %% wrong: multiplied, of: where | says: the branch is multiplied by keep_prob
# The branch is scaled down.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, branch * keep_prob, 0)


# %% wrong: no_error, of: where | says: keep_prob=0
# A probability of 0 is not refused.
# -     if not 0 < keep_prob <= 1:
# -         raise ValueError(f"keep_prob: expected a number in (0, 1], got {keep_prob}")


# %% wrong: not_scaled, of: where | says: not divided by keep_prob
# The kept branch isn't scaled up.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, branch, 0)


# %% wrong: observed_share, of: where | says: share of kept sequences
# The branch is divided by the share that happened to be kept.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, branch / keep.float().mean().clamp(min=1e-9), 0)


# %% wrong: polarity, of: where | says: inverted
# True is read as drop.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, 0, branch / keep_prob)


# %% wrong: powers | says: powers of last
# The probabilities are multiplied up.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [last ** (layer + 1) for layer in range(num_layers)]


# %% wrong: residual_dropped, of: where | says: residual
# The whole layer is dropped, residual included.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return torch.where(kept, x + branch / keep_prob, 0)


# %% wrong: reversed | says: the line rises
# The first layers are dropped most.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - (num_layers - layer) / num_layers * (1 - last) for layer in range(num_layers)]


# %% wrong: scaled_at_test, of: where | says: keep=None
# The branch is scaled in evaluation too: the scaling of the paper, on top.
# -         return x + branch
# +         return x + keep_prob * branch


# %% wrong: sum_scaled, of: where | says: x is divided as well
# The whole sum is divided.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return torch.where(kept, (x + branch) / keep_prob, x)


# %% wrong: times_zero, of: where | says: NaN
# The branch is multiplied by 0, and 0 times infinity is NaN.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + kept * branch / keep_prob


# %% wrong: wrong_axis, of: where | says: token axis
# The decisions land on the token axis.
# -     kept = keep[:, None, None]
# +     kept = keep[None, :, None]


# %% right: linspace_and_rows
def keep_probabilities(num_layers, last):
    line = torch.linspace(1.0, last, num_layers + 1, dtype=torch.float64)
    return line[1:].tolist()


def drop_branch(x, branch, keep, keep_prob):
    if keep_prob > 1 or keep_prob <= 0:
        raise ValueError("0 < keep_prob <= 1 is asked for")
    if keep is None:
        return torch.add(x, branch)
    rows = [a + b / keep_prob if k else a.clone() for a, b, k in zip(x, branch, keep)]
    return torch.stack(rows)


# %% right: index_put
def keep_probabilities(num_layers, last):
    step = (1 - last) / num_layers
    return [1 - step * (layer + 1) for layer in range(num_layers)]


def drop_branch(x, branch, keep, keep_prob):
    if not (keep_prob > 0 and keep_prob <= 1):
        raise ValueError(f"keep_prob {keep_prob}")
    if keep is None:
        keep, keep_prob = torch.ones(len(x), dtype=torch.bool), 1.0
    result = x.clone()
    result[keep] = result[keep] + branch[keep] / keep_prob
    return result


# %% right: filled_after_scaling
def keep_probabilities(num_layers, last):
    drop = 1 - last
    return [1.0 - drop * layer / num_layers for layer in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    if keep_prob <= 0.0 or keep_prob > 1.0:
        raise ValueError("keep_prob is no probability")
    if keep is None:
        return x + branch
    kept = keep.reshape(-1, 1, 1)
    scale = kept.to(x.dtype) / keep_prob
    return x + (scale * branch).masked_fill(kept.logical_not(), 0)


# %% wrong: list_kept | says: returns the list of an earlier call
_lists = {}


def keep_probabilities(num_layers, last):
    key = (num_layers, last)
    if key not in _lists:
        _lists[key] = [
            1 - n / num_layers * (1 - last) for n in range(1, num_layers + 1)
        ]
    return _lists[key]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError("keep_prob")
    if keep is None:
        return x + branch
    return x + torch.where(keep[:, None, None], branch / keep_prob, 0)


# %% wrong: x_itself_when_all_drop | says: memory
# -     kept = keep[:, None, None]  # (B,) -> (B, 1, 1)
# +     if not keep.any():
# +         return x
# +     kept = keep[:, None, None]


# %% wrong: almost_x | says: exactly
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return torch.where(kept, x + branch / keep_prob, x * (1 - 1e-13))


# %% wrong: not_checked_in_evaluation | says: must raise ValueError in evaluation too
# -     if not 0 < keep_prob <= 1:
# +     if keep is not None and not 0 < keep_prob <= 1:


# %% wrong: one_is_refused | says: ValueError
# -     if not 0 < keep_prob <= 1:
# +     if not 0 < keep_prob < 1:


# %% wrong: dropped_zeroed_in_place | says: in place|changed
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     branch[~keep] = 0.0
# +     return x + branch / keep_prob


# %% wrong: kept_in_float32 | says: seven digits
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, branch.float() / keep_prob, 0)


# %% wrong: decisions_of_the_first_call | says: earlier call|between calls
# -     kept = keep[:, None, None]  # (B,) -> (B, 1, 1)
# +     seen = drop_branch.__dict__.setdefault(len(keep), keep)
# +     kept = seen[:, None, None]


# %% wrong: nan_to_num | says: infinities and NaN of the branch must reach the result
# infinities of a kept branch are replaced as well
def keep_probabilities(num_layers, last):
    return [1 - n / num_layers * (1 - last) for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob must be in (0, 1], got {keep_prob}")
    if keep is None:
        return x + branch
    return x + torch.nan_to_num(branch) * keep[:, None, None] / keep_prob


# %% wrong: one_is_evaluation | says: as with keep=None|still drops
# A keep_prob of 1 counts as evaluation.
def keep_probabilities(num_layers, last):
    """Return the probability of keeping a branch for each layer, first to last."""
    return [1 - n / num_layers * (1 - last) for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    """Return the stream with the branches that are kept, scaled so that the mean is right."""
    if not 0 < keep_prob <= 1:
        raise ValueError("keep_prob must be in (0, 1]")
    if keep is None or keep_prob == 1:
        return x + branch
    return torch.where(keep[:, None, None], x + branch / keep_prob, x)


# %% wrong: eight_sequences | says: Seventy sequences
# The ninth sequence that is kept loses its branch.
def keep_probabilities(num_layers, last):
    return [1 - (1 - last) * n / num_layers for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError("keep_prob")
    if keep is None:
        return x + branch
    out = x.clone()
    for i in keep.nonzero().flatten().tolist()[:8]:
        out[i] = x[i] + branch[i] / keep_prob
    return out


# %% wrong: over_one_fraction_bar | says: neither multiplied nor divided
# A dropped x is multiplied and divided, and rounded twice.
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return (x * keep_prob + torch.where(kept, branch, 0)) / keep_prob


# %% wrong: detached_where_dropped | says: where the branch is dropped
def keep_probabilities(num_layers, last):
    return [1 - n / num_layers * (1 - last) for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob must be in (0, 1], got {keep_prob}")
    if keep is None:
        return x + branch
    kept = keep[:, None, None]
    return torch.where(kept, x + branch / keep_prob, x.detach())


# %% wrong: one_kept | says: in a batch of one
def keep_probabilities(num_layers, last):
    return [1 - n / num_layers * (1 - last) for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob must be in (0, 1], got {keep_prob}")
    if keep is None:
        return x + branch
    if len(keep) == 1:
        return x + branch if keep.item() else x.clone()
    kept = keep[:, None, None]
    return torch.where(kept, x + branch / keep_prob, x)


# %% wrong: all_kept_as_in_evaluation | says: as in evaluation
def keep_probabilities(num_layers, last):
    return [1 - n / num_layers * (1 - last) for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob must be in (0, 1], got {keep_prob}")
    if keep is None or keep.all():
        return x + branch
    kept = keep[:, None, None]
    return torch.where(kept, x + branch / keep_prob, x)


# %% wrong: subtracted_again | says: Where keep is False, the result is x exactly
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     part = branch / keep_prob
# +     back = torch.where(part.isfinite(), x + part - part, x)
# +     return torch.where(kept, x + part, back)


# %% wrong: rounded_to_two_digits | says: probabilities are rounded to a few digits
# The probabilities are rounded to two digits.
def keep_probabilities(num_layers, last):
    """Return the probability of keeping a branch for each layer, first to last, as N
    floats.
    """
    return [round(1 - n / num_layers * (1 - last), 2) for n in range(1, num_layers + 1)]


def drop_branch(x, branch, keep, keep_prob):
    """Return the stream with the branches that are kept, scaled so that the mean is
    right.
    """
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob must be in (0, 1], got {keep_prob}")
    if keep is None:
        return x + branch
    return torch.where(keep[:, None, None], x + branch / keep_prob, x)


# %% wrong: stub_x | says: this is x itself
# No decision is made at all, neither for a sequence nor for the batch.
# -     kept = keep[:, None, None]  # (B,) -> (B, 1, 1)
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x


# %% wrong: embeddings_too | says: \(3, 0\.4\): expected 3 numbers, got 4
# The embeddings have an entry as well.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return [1 - layer / num_layers * (1 - last) for layer in range(num_layers + 1)]


# %% wrong: first_decides | says: branch that is dropped: 1 entries are NaN\.$
# The decision about the first sequence stands for all.
# -     kept = keep[:, None, None]  # (B,) -> (B, 1, 1)
# +     kept = keep[:1, None, None]


# %% wrong: list_of_tensors | says: expected floats, got
# The list holds tensors.
# -     return [1 - layer / num_layers * (1 - last) for layer in range(1, num_layers + 1)]
# +     return list(torch.linspace(1.0, last, num_layers + 1, dtype=torch.float64)[1:])


# %% wrong: nothing_dropped_with_one, of: where | says: keep=False has no effect
# With keep_prob=1 no branch is dropped.
# -     kept = keep[:, None, None]
# +     kept = keep[:, None, None] | (keep_prob == 1)


# %% wrong: divided_by_a_half | says: each kept branch comes twice
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, branch / 0.5, 0)


# %% wrong: times_the_batch | says: multiplied by the number of sequences
# -     return x + torch.where(kept, branch / keep_prob, 0)
# +     return x + torch.where(kept, branch * len(keep), 0)


# %% wrong: last_as_it_is | says: of Python's type int
# The last probability is the argument itself, which may be an int.
def keep_probabilities(num_layers, last):
    step = (1 - last) / num_layers
    return [1 - n * step for n in range(1, num_layers)] + [last]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob is {keep_prob}")
    if keep is None:
        return x + branch
    return x + branch.masked_fill(~keep[:, None, None], 0.0) / keep_prob

# %% right: base
# What most wrong answers change.
def reach(layer, x, other):
    columns = []
    with torch.no_grad():
        before = layer(x.clone())
        for s in range(x.shape[1]):
            changed = x.clone()
            changed[:, s] = other[:, s]
            moved = (layer(changed) - before).abs() > 1e-6
            columns.append(moved.any(dim=-1).any(dim=0))
    return torch.stack(columns, dim=1)


def leaks(layer, x, other):
    found = reach(layer, x, other).tolist()
    size = len(found)
    return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]


def audit(module, x, other):
    before = [part.training for part in module.modules()]
    module.train()
    train = leaks(module, x, other)
    module.eval()
    evaluation = leaks(module, x, other)
    for part, mode in zip(module.modules(), before):
        part.training = mode
    return {"train": train, "eval": evaluation}


# %% right: one_batch_of_all
def reach(layer, x, other):
    with torch.no_grad():
        before = layer(x.detach().clone()).clone()
        size = x.shape[1]
        result = torch.zeros(size, size, dtype=torch.bool)
        for s in range(size):
            parts_of_x = [x[:, :s], other[:, s : s + 1], x[:, s + 1 :]]
            after = layer(torch.cat(parts_of_x, dim=1))
            largest = torch.amax(torch.abs(after - before), dim=(0, 2))
            result[:, s] = largest > 1e-6
    return result


def leaks(layer, x, other):
    seen = reach(layer, x, other).tolist()
    return [
        (t, s) for t in range(len(seen)) for s in range(t + 1, len(seen)) if seen[t][s]
    ]


def audit(module, x, other):
    saved = {name: part.training for name, part in module.named_modules()}
    module.train()
    training = leaks(module, x, other)
    module.eval()
    evaluation = leaks(module, x, other)
    for name, part in module.named_modules():
        part.training = saved[name]
    return {"train": training, "eval": evaluation}


# %% right: where
def reach(layer, x, other):
    x, other = x.detach(), other.detach()
    positions = torch.arange(x.shape[1])
    first = layer(x.clone()).detach()
    rows = []
    for s in positions:
        mixed = torch.where((positions == s)[None, :, None], other, x)
        difference = layer(mixed).detach() - first
        rows.append(
            (difference > 1e-6).sum((0, 2)) + (difference < -1e-6).sum((0, 2)) > 0
        )
    return torch.stack(rows).T


def leaks(layer, x, other):
    found = reach(layer, x, other)
    t, s = torch.where(found)
    return sorted((a, b) for a, b in zip(t.tolist(), s.tolist()) if b > a)


def audit(module, x, other):
    parts_of_it = list(module.modules())
    before = [part.training for part in parts_of_it]
    result = {}
    for mode in (True, False):
        module.train(mode)
        result["train" if mode else "eval"] = leaks(module, x, other)
    for part, mode in zip(parts_of_it, before):
        part.training = mode
    return result


# %% wrong: all_must_move, of: base | says: any sequence and any feature count
# All features must move before it counts.
# -             columns.append(moved.any(dim=-1).any(dim=0))
# +             columns.append(moved.all(dim=-1).all(dim=0))


# %% wrong: changes_x, of: base | says: fresh copy of x
# Positions are replaced in x itself.
# -             changed = x.clone()
# +             kept = x[:, s].clone()
# +             changed = x


# %% wrong: coarse, of: base | says: leak of size 0.0001
# Only large differences are seen.
# -             moved = (layer(changed) - before).abs() > 1e-6
# +             moved = (layer(changed) - before).abs() > 1e-2


# %% wrong: diagonal_leaks, of: base | says: may depend on itself
# The diagonal is counted as a leak.
# -     return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]
# +     return [(t, s) for t in range(size) for s in range(size) if s >= t and found[t][s]]


# %% wrong: exact, of: base | says: leak of size 1e-09
# Any difference counts, also one by rounding.
# -             moved = (layer(changed) - before).abs() > 1e-6
# +             moved = (layer(changed) - before).abs() > 0


# %% wrong: first_feature, of: base | says: the last feature only
# Only feature 0 is compared.
# -             columns.append(moved.any(dim=-1).any(dim=0))
# +             columns.append(moved[..., 0].any(dim=0))


# %% wrong: first_sequence, of: base | says: the last sequence only
# Only the first sequence of the batch is compared.
# -             columns.append(moved.any(dim=-1).any(dim=0))
# +             columns.append(moved.any(dim=-1)[0])


# %% wrong: future_only, of: base | says: entries above the diagonal are left out
# reach is cut to the past.
# -     return torch.stack(columns, dim=1)
# +     return torch.stack(columns, dim=1).tril()


# %% wrong: gradients, of: base | says: gradient 0, and yet it depends
# Gradients instead of replaced positions.
# -     columns = []
# -     with torch.no_grad():
# -         before = layer(x.clone())
# -         for s in range(x.shape[1]):
# -             changed = x.clone()
# -             changed[:, s] = other[:, s]
# -             moved = (layer(changed) - before).abs() > 1e-6
# -             columns.append(moved.any(dim=-1).any(dim=0))
# -     return torch.stack(columns, dim=1)
# +     leaf = x.detach().clone().requires_grad_()
# +     output = layer(leaf * 1.0)
# +     rows = []
# +     for t in range(x.shape[1]):
# +         (gradient,) = torch.autograd.grad(output[:, t].abs().sum(), leaf, retain_graph=True)
# +         rows.append(gradient.abs().amax((0, 2)) > 1e-6)
# +     return torch.stack(rows)


# %% wrong: inverted, of: base | says: it is inverted
# True is put where nothing moved.
# -     return torch.stack(columns, dim=1)
# +     return ~torch.stack(columns, dim=1)


# %% wrong: left_in_eval, of: base | says: left in the other
# The mode isn't put back.
# -     for part, mode in zip(module.modules(), before):
# -         part.training = mode


# %% wrong: no_copy, of: base | says: copy
# x itself is handed to a layer that writes into it.
# -         before = layer(x.clone())
# +         before = layer(x)


# %% wrong: no_eval, of: base | says: leaks in evaluation mode
# The module is looked at in the mode that it is in.
# -     module.train()
#       train = leaks(module, x, other)
# -     module.eval()


# %% wrong: one_mode_for_all, of: base | says: give each its own back
# Every submodule gets the mode of the whole.
# -     for part, mode in zip(module.modules(), before):
# -         part.training = mode
# +     module.train(before[0])


# %% wrong: one_sign, of: base | says: a number that gets smaller
# Only growing outputs are seen.
# -             moved = (layer(changed) - before).abs() > 1e-6
# +             moved = (layer(changed) - before) > 1e-6


# %% wrong: pairs_turned, of: base | says: pairs are turned
# The pairs are (s, t).
# -     return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]
# +     return [(s, t) for t in range(size) for s in range(size) if s > t and found[t][s]]


# %% wrong: past_leaks, of: base | says: that is the past
# Looking back is reported.
# -     return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]
# +     return [(t, s) for t in range(size) for s in range(size) if s < t and found[t][s]]


# %% wrong: per_sequence, of: base | says: one entry for each sequence
# The batch axis is kept.
# -             columns.append(moved.any(dim=-1).any(dim=0))
# -     return torch.stack(columns, dim=1)
# +             columns.append(moved.any(dim=-1))
# +     return torch.stack(columns, dim=2)
#   def leaks(layer, x, other):
# -     found = reach(layer, x, other).tolist()
# +     found = reach(layer, x, other).any(dim=0).tolist()


# %% wrong: pile_up, of: base | says: pile up
# One copy is changed further and further.
# +         changed = x.clone()
#           for s in range(x.shape[1]):
# -             changed = x.clone()
#               changed[:, s] = other[:, s]
# -             moved = (layer(changed) - before).abs() > 1e-6
# +             moved = (layer(changed.clone()) - before).abs() > 1e-6


# %% wrong: sum_cancels, of: base | says: two features that move in opposite directions
# Differences are summed over the features, where they cancel.
# -             moved = (layer(changed) - before).abs() > 1e-6
# -             columns.append(moved.any(dim=-1).any(dim=0))
# +             moved = (layer(changed) - before).sum(dim=-1).abs() > 1e-6
# +             columns.append(moved.any(dim=0))


# %% wrong: transposed, of: base | says: rows and columns are swapped
# Each call gives a row.
# -     return torch.stack(columns, dim=1)
# +     return torch.stack(columns, dim=0)

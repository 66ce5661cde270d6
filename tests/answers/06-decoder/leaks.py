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


# %% wrong: all_must_move, of: base | says: Any feature counts, by itself
# All features must move before it counts.
# -             columns.append(moved.any(dim=-1).any(dim=0))
# +             columns.append(moved.all(dim=-1).all(dim=0))


# %% wrong: changes_x, of: base | says: fresh copy of x
# Positions are replaced in x itself.
# -             changed = x.clone()
# +             kept = x[:, s].clone()
# +             changed = x


# %% wrong: coarse, of: base | says: a small change above the limit goes unnoticed
# Only large differences are seen.
# -             moved = (layer(changed) - before).abs() > 1e-6
# +             moved = (layer(changed) - before).abs() > 1e-2


# %% wrong: diagonal_leaks, of: base | says: may depend on itself
# The diagonal is counted as a leak.
# -     return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]
# +     return [(t, s) for t in range(size) for s in range(size) if s >= t and found[t][s]]


# %% wrong: exact, of: base | says: far below the limit
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


# %% wrong: no_copy, of: base | says: wrote into a tensor that you use again
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


# %% right: batched_by_position
def reach(layer, x, other):
    size = x.shape[1]
    table = torch.zeros(size, size, dtype=torch.bool)
    base = layer(x.detach().clone()).detach().clone()
    for s in range(size):
        mixed = torch.cat((x[:, :s], other[:, s : s + 1], x[:, s + 1 :]), 1).detach()
        gap = layer(mixed).detach() - base
        table[:, s] = gap.abs().amax(dim=(0, 2)) > 1e-6
    return table


def leaks(layer, x, other):
    table = reach(layer, x, other).tolist()
    return [
        (t, s)
        for t, row in enumerate(table)
        for s, hit in enumerate(row)
        if hit and s > t
    ]


def audit(module, x, other):
    before = {part: part.training for part in module.modules()}
    result = {"train": leaks(module.train(), x, other)}
    result["eval"] = leaks(module.eval(), x, other)
    for part, mode in before.items():
        part.train(mode) if not list(part.children()) else setattr(
            part, "training", mode
        )
    return result


# %% right: a_mask_for_the_position
def reach(layer, x, other):
    x, other = x.detach(), other.detach()
    start = layer(x + 0)
    columns = []
    for s in range(x.size(1)):
        here = (torch.arange(x.size(1)) == s)[None, :, None]
        end = layer(torch.where(here, other, x))
        columns.append(((end - start).abs() > 1e-6).transpose(0, 1).flatten(1).any(1))
    return torch.stack(columns).T


def leaks(layer, x, other):
    return [tuple(p) for p in torch.triu(reach(layer, x, other), 1).nonzero().tolist()]


def audit(module, x, other):
    parts = list(module.modules())
    modes = [p.training for p in parts]
    module.train()
    first = leaks(module, x, other)
    module.eval()
    second = leaks(module, x, other)
    for p, m in zip(parts, modes):
        p.training = m
    return dict(train=first, eval=second)


# %% wrong: one_sequence_at_a_time | says: wrong|expected
# The position is replaced in one sequence after the other.
# -             changed = x.clone()
# -             changed[:, s] = other[:, s]
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = torch.zeros_like(before).bool()
# +             for b in range(len(x)):
# +                 changed = x.clone()
# +                 changed[b, s] = other[b, s]
# +                 moved |= (layer(changed) - before).abs() > 1e-6


# %% wrong: one_feature_at_a_time | says: wrong|expected
# -             changed = x.clone()
# -             changed[:, s] = other[:, s]
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = torch.zeros_like(before).bool()
# +             for d in range(x.shape[2]):
# +                 changed = x.clone()
# +                 changed[:, s, d] = other[:, s, d]
# +                 moved |= (layer(changed) - before).abs() > 1e-6


# %% wrong: relative_limit | says: is there a relative tolerance
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = ~torch.isclose(layer(changed), before, atol=1e-6)


# %% wrong: another_limit | says: look the limit up in the statement
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = (layer(changed) - before).abs() > 1e-5


# %% wrong: any_difference | says: change below the limit of the statement counts
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = (layer(changed) - before).abs() > 9e-7


# %% wrong: noise_instead_of_other | says: neither in x nor in other
# Other is not used.
# -             changed[:, s] = other[:, s]
# +             changed[:, s] = x[:, s] + 1


# %% wrong: itself_excluded | says: wrong|expected
# The diagonal is always True.
# -     return torch.stack(columns, dim=1)  # T x (T,) -> (T, T)
# +     return torch.stack(columns, dim=1) | torch.eye(x.shape[1]).bool()


# %% wrong: eval_first | says: mode
# reach switches dropout off.
# -     columns = []
# +     columns = []
# +     if isinstance(layer, nn.Module):
# +         layer.eval()


# %% wrong: deep_copy | says: module itself|stopped|copied
# -     modes = [(part, part.training) for part in module.modules()]
# +     import copy
# +     module = copy.deepcopy(module)
# +     modes = [(part, part.training) for part in module.modules()]


# %% wrong: three_entries | says: dictionary
# -     return found
# +     return found | {"both": found["train"] + found["eval"]}


# %% wrong: root_restored | says: note the mode of each part
# Only the module itself gets its mode back.
# -         for part, mode in modes:
# -             part.training = mode
# +         module.train(modes[0][1])


# %% wrong: pairs_kept | says: audit
# The list is one for all calls.
# -     return [(t, s) for t, s in future.nonzero().tolist()]
# +     known = leaks.__dict__.setdefault("known", [])
# +     known[:] = [(t, s) for t, s in future.nonzero().tolist()]
# +     return known


# %% right: plain_numbers
def outputs_of(layer, x):
    return layer(x.clone()).detach().tolist()


def reach(layer, x, other):
    B, n, d = x.shape
    reference = outputs_of(layer, x)
    answer = [[False] * n for _ in range(n)]
    for column in range(n):
        new = outputs_of(
            layer,
            torch.cat(
                [x[:, :column], other[:, column : column + 1], x[:, column + 1 :]], 1
            ),
        )
        for row in range(n):
            answer[row][column] = any(
                abs(new[b][row][k] - reference[b][row][k]) > 1e-6
                for b in range(B)
                for k in range(d)
            )
    return torch.tensor(answer)


def leaks(layer, x, other):
    return sorted(
        (t, s)
        for t, row in enumerate(reach(layer, x, other).tolist())
        for s, yes in enumerate(row)
        if yes and s > t
    )


def audit(module, x, other):
    parts_ = list(module.modules())
    modes = [p.training for p in parts_]
    try:
        return {
            "train": leaks(module.train(), x, other),
            "eval": leaks(module.eval(), x, other),
        }
    finally:
        for p, m in zip(parts_, modes):
            p.training = m


# %% wrong: mean_moved, of: base | says: by itself, not at a mean
# The mean over sequences and features is compared with the limit.
# -             moved = (layer(changed) - before).abs() > 1e-6
# +             moved = (layer(changed) - before).abs().mean((0, 2))[None, :, None] > 1e-6


# %% wrong: first_sequence_replaced, of: base | says: in all sequences at once
# Only the first sequence is changed.
# -             changed[:, s] = other[:, s]
# +             changed[0, s] = other[0, s]


# %% wrong: outer_modes, of: base | says: inside of a part
# Parts of parts don't get their mode back.
# -     before = [part.training for part in module.modules()]
# +     outer = [module, *module.children()]
# +     before = [part.training for part in outer]

# -     for part, mode in zip(module.modules(), before):
# +     for part, mode in zip(outer, before):


# %% wrong: in_float32, of: base | says: another data type than that of x
# The layer is called in float32.
# -     with torch.no_grad():
# +     x, other = x.float(), other.float()
# +     with torch.no_grad():


# %% wrong: restored_by_train | says: A part that two others hold
# train(mode) reaches down: a shared part gets the mode of the parent that comes last.
# -             part.training = mode
# +             part.train(mode)


# %% wrong: sorted_as_text | says: sorted as texts
# Pairs are sorted as texts, where 10 stands before 2.
# -     return [(t, s) for t, s in future.nonzero().tolist()]
# +     return sorted([(t, s) for t, s in future.nonzero().tolist()], key=str)


# %% wrong: forward_without_hooks | says: leaves its hooks out
# The method forward is called in place of the module.
# -             found[name] = leaks(module, x, other)
# +             found[name] = leaks(module.forward, x, other)


# %% wrong: tiniest_change | says: a change far below the limit|tiniest
# No limit: each difference counts.
def reach(layer, x, other):
    base = layer(x.clone())
    columns = []
    for j in range(x.shape[1]):
        changed = x.clone()
        changed[:, j] = other[:, j]
        columns.append((layer(changed) != base).any(dim=2).any(dim=0))
    return torch.stack(columns, dim=1)


def leaks(layer, x, other):
    table = reach(layer, x, other)
    size = len(table)
    return [(i, j) for i in range(size) for j in range(i + 1, size) if table[i, j]]


def audit(module, x, other):
    modes = [(part, part.training) for part in module.modules()]
    module.train()
    in_train = leaks(module, x, other)
    module.eval()
    in_eval = leaks(module, x, other)
    for part, mode in modes:
        part.training = mode
    return {"train": in_train, "eval": in_eval}


# %% wrong: frozen_by_eval | says: reach down to all parts inside
def reach(layer, x, other):
    before = layer(x.clone())
    columns = []
    for j in range(x.shape[1]):
        changed = x.clone()
        changed[:, j] = other[:, j]
        moved = (layer(changed) - before).abs() > 1e-6
        columns.append(moved.any(dim=-1).any(dim=0))
    return torch.stack(columns, dim=1)


def leaks(layer, x, other):
    table = reach(layer, x, other)
    length = len(table)
    return [(i, j) for i in range(length) for j in range(i + 1, length) if table[i, j]]


def audit(module, x, other):
    modes = [(part, part.training) for part in module.modules()]
    found = {}
    module.train()
    found["train"] = leaks(module, x, other)
    module.eval()
    found["eval"] = leaks(module, x, other)
    module.train()
    for part, mode in modes:
        if not mode:
            part.eval()
    return found


# %% wrong: train_only_from_evaluation, of: base | says: with a part in another mode
# A module in training mode is taken for one whose parts all are.
# -     module.train()
# +     if not module.training:
# +         module.train()


# %% wrong: eval_only_from_training, of: base | says: with a part in another mode
# A module in evaluation mode is taken for one whose parts all are.
# -     module.train()
# -     train = leaks(module, x, other)
# -     module.eval()
# -     evaluation = leaks(module, x, other)
# +     if module.training:
# +         module.eval()
# +     evaluation = leaks(module, x, other)
# +     module.train()
# +     train = leaks(module, x, other)


# %% wrong: column_by_column | says: right pairs, in another order
# -     return [(t, s) for t, s in future.nonzero().tolist()]
# +     return [(t, s) for s, t in future.T.nonzero().tolist()]

# %% wrong: all_positions_at_once | says: all positions are replaced at once
# -             changed[:, s] = other[:, s]
# +             changed[:] = other

# %% wrong: limit_of_1e7 | says: change below the limit of the statement counts
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = (layer(changed) - before).abs() > 1e-7

# %% wrong: never_a_leak | says: mend leaks first
# -     future = reach(layer, x, other).triu(diagonal=1)  # the entries [t, s] with s > t
# +     future = reach(layer, x, other).tril(diagonal=-1).triu()


# %% right: no_call_too_many, of: base
# `leaks` looks at the positions that can leak, and calls the layer no more than that.
# -     found = reach(layer, x, other).tolist()
# -     size = len(found)
# -     return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]
# +     found, before = [], layer(x.clone())
# +     for s in range(1, x.shape[1]):
# +         changed = x.clone()
# +         changed[:, s] = other[:, s]
# +         moved = ((layer(changed) - before).abs() > 1e-6).any(-1).any(0)
# +         found += [(t, s) for t in range(s) if moved[t]]
# +     return sorted(found)


# %% wrong: pairs_of_tensors | says: has the type Tensor, expected int
# -     return [(t, s) for t, s in future.nonzero().tolist()]
# +     return [(t, s) for t, s in future.nonzero()]

# %% wrong: limit_counts | says: a change of exactly the limit counts as well
# -             moved = (layer(changed) - before).abs() > 1e-6  # (B, T, D)
# +             moved = (layer(changed) - before).abs() >= 1e-6

# %% wrong: audit_kept | says: Is something kept from an earlier call
# -     modes = [(part, part.training) for part in module.modules()]
# +     known = (type(module), x.shape, module.__dict__.get("leaky"))
# +     if known in globals().setdefault("audited", {}):
# +         return audited[known]
# +     modes = [(part, part.training) for part in module.modules()]

# -     return found
# +     audited[known] = found
# +     return found


# %% wrong: first_feature_replaced | says: with all its features
# -             changed[:, s] = other[:, s]
# +             changed[:, s, 0] = other[:, s, 0]

# %% right: counting
# The place of a right answer: how many stand before it.
def retrieval(similarities, relevant, k):
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")
    higher = similarities[:, None, :] > similarities[:, :, None]
    equal = similarities[:, None, :] == similarities[:, :, None]
    before = higher | (equal & ~relevant[:, None, :])
    earlier = torch.ones(relevant.shape[1], relevant.shape[1]).tril(-1).bool()
    before = before | (equal & relevant[:, None, :] & earlier)
    place = before.sum(-1) + 1
    inside = (relevant & (place <= k)).sum(1)
    recall = inside.to(similarities.dtype) / relevant.sum(1).clamp(min=1)
    reciprocal = (relevant / place.to(similarities.dtype)).amax(1)
    return inside > 0, recall, reciprocal


# %% right: loops
def retrieval(similarities, relevant, k):
    if k < 1:
        raise ValueError("k is too small")
    hits, recalls, firsts = [], [], []
    for scores, right in zip(similarities.tolist(), relevant.tolist(), strict=True):
        order = sorted(range(len(scores)), key=lambda j: (-scores[j], right[j]))
        places = [p for p, j in enumerate(order, 1) if right[j]]
        inside = [p for p in places if p <= k]
        hits.append(bool(inside))
        recalls.append(len(inside) / len(places) if places else 0.0)
        firsts.append(1 / places[0] if places else 0.0)
    return (
        torch.tensor(hits),
        torch.tensor(recalls, dtype=similarities.dtype),
        torch.tensor(firsts, dtype=similarities.dtype),
    )


# %% right: two_sorts
def retrieval(similarities, relevant, k):
    if k < 1:
        raise ValueError(f"k: at least 1 is needed, not {k}")
    rows = torch.arange(len(relevant))[:, None]
    first = relevant.long().argsort(dim=1, stable=True)
    order = similarities[rows, first].argsort(dim=1, descending=True, stable=True)
    table = relevant[rows, first[rows, order]]
    total = table.sum(1)
    recall = table[:, :k].sum(1) / total.clamp(min=1).to(similarities.dtype)
    place = table.int().argmax(1) + 1
    reciprocal = torch.where(total > 0, 1 / place.to(similarities.dtype), 0.0)
    return table[:, :k].any(1), recall, reciprocal.to(similarities.dtype)


# %% wrong: rising, of: two_sorts | says: order is by rising similarity
# The least similar come first.
# -     order = similarities[rows, first].argsort(dim=1, descending=True, stable=True)
# +     order = similarities[rows, first].argsort(dim=1, stable=True)


# %% wrong: unsorted, of: two_sorts | says: columns as they stand
# The table is not sorted.
# -     table = relevant[rows, first[rows, order]]
# +     table = relevant


# %% wrong: precision | says: \(the precision\)
# The share of the k first.
# -     recall = inside / found.sum(dim=1).clamp(min=1)
# +     recall = inside / k


# %% wrong: recall_is_hit | says: hit as a number
# One right answer is thought enough.
# -     recall = inside / found.sum(dim=1).clamp(min=1)
# +     recall = (inside > 0).to(inside.dtype)


# %% wrong: place_from_zero | says: counted from 0
# -     places = torch.arange(1, found.shape[1] + 1, dtype=found.dtype)
# +     places = torch.arange(found.shape[1], dtype=found.dtype).clamp(min=1)


# %% wrong: reciprocal_cut | says: doesn't depend on k
# A right answer beyond k is not seen.
# -     return inside > 0, recall, (found / places).amax(dim=1)
# +     return inside > 0, recall, (found / places)[:, :k].amax(dim=1)


# %% wrong: mean_of_reciprocals | says: mean over all right answers
# -     return inside > 0, recall, (found / places).amax(dim=1)
# +     mean = (found / places).sum(dim=1) / found.sum(dim=1).clamp(min=1)
# +     return inside > 0, recall, mean


# %% wrong: stable_only, of: two_sorts | says: ties help here
# Equals stay in the order of the table.
# -     first = relevant.long().argsort(dim=1, stable=True)
# +     first = torch.arange(relevant.shape[1]).expand(relevant.shape)


# %% wrong: right_first, of: two_sorts | says: right candidates stand before wrong ones
# -     first = relevant.long().argsort(dim=1, stable=True)
# +     first = relevant.long().argsort(dim=1, descending=True, stable=True)


# %% wrong: ties_push_each_other, of: counting | says: push each other
# Every candidate of the same score counts as one that stands before.
# -     earlier = torch.ones(relevant.shape[1], relevant.shape[1]).tril(-1).bool()
# -     before = before | (equal & relevant[:, None, :] & earlier)
# -     place = before.sum(-1) + 1
# +     place = (higher | equal).sum(-1)


# %% wrong: nan_without_right | says: without a right answer gets 0
# -     recall = inside / found.sum(dim=1).clamp(min=1)
# +     recall = inside / found.sum(dim=1)


# %% wrong: first_place_without_right, of: two_sorts | says: one over place 1
# argmax of a row without True is 0.
# -     reciprocal = torch.where(total > 0, 1 / place.to(similarities.dtype), 0.0)
# +     reciprocal = 1 / place.to(similarities.dtype)


# %% wrong: no_check | says: k = 0 must raise ValueError
# -     if k < 1:
# -         raise ValueError(f"k: expected at least 1, got {k}")


# %% wrong: topk_fails, of: two_sorts | says: RuntimeError|selected index k out of range|k = 8
# topk of more than there are stops.
# -     recall = table[:, :k].sum(1) / total.clamp(min=1).to(similarities.dtype)
# +     top = similarities.topk(k, dim=1).indices
# +     recall = table[:, :k].sum(1) / total.clamp(min=1).to(similarities.dtype)


# %% wrong: in_float32, of: two_sorts | says: data type
# -     recall = table[:, :k].sum(1) / total.clamp(min=1).to(similarities.dtype)
# +     recall = table[:, :k].sum(1) / total.clamp(min=1)


# %% wrong: compared_in_float32, of: two_sorts | says: float64 only
# Scores that differ in their last digits become equal.
# -     order = similarities[rows, first].argsort(dim=1, descending=True, stable=True)
# +     order = similarities.float()[rows, first]
# +     order = order.argsort(dim=1, descending=True, stable=True)


# %% wrong: nudges_the_scores, of: two_sorts | says: changes its arguments in place
# Right ones are moved behind wrong ones by a small amount, in the caller's table.
# -     first = relevant.long().argsort(dim=1, stable=True)
# +     similarities -= 1e-6 * relevant
# +     first = relevant.long().argsort(dim=1, stable=True)


# %% right: two_sorts_too
def retrieval(similarities, relevant, k):
    if k < 1:
        raise ValueError("k must be at least 1")
    with torch.no_grad():
        order = relevant.long().argsort(dim=1, stable=True)  # wrong ones first
        again = similarities.gather(1, order).argsort(
            dim=1, descending=True, stable=True
        )
        table = relevant.gather(1, order.gather(1, again))
        kind = similarities.dtype
        first = table[:, :k]
        recall = first.sum(1).to(kind) / table.sum(1).clamp(min=1).to(kind)
        places = torch.arange(1, table.shape[1] + 1, dtype=kind)
        reciprocal = (table.to(kind) / places).amax(dim=1)
        return first.any(dim=1), recall, reciprocal


# %% wrong: topk, of: two_sorts_too | says: larger than the number of candidates
# Uses topk for the first k, which stops with an error where k is larger than n.
# -         first = table[:, :k]
# +         first = table.gather(1, torch.arange(len(table[0])).neg().topk(k).indices.expand(len(table), k))


# %% wrong: places_in_8_bits | says: Many candidates
# -     places = torch.arange(1, found.shape[1] + 1, dtype=found.dtype)
# +     places = torch.arange(1, found.shape[1] + 1).to(torch.int8).to(found.dtype)


# %% wrong: epsilon_below | says: number cut off or added
# -     recall = inside / found.sum(dim=1).clamp(min=1)
# +     recall = inside / (found.sum(dim=1) + 1e-12)


# %% wrong: weights_run_out, of: two_sorts | says: behind place 1000.*reciprocal
# The first right answer has the largest of weights that are 0 behind place 1000.
# -     place = table.int().argmax(1) + 1
# +     places = torch.arange(1, table.shape[1] + 1)
# +     place = (table * (1 - 0.001 * places).clamp(min=0)).argmax(1) + 1


# %% wrong: minus_infinity_is_no_answer | says: Right answers with minus infinity
# -     return inside > 0, recall, (found / places).amax(dim=1)
# +     best = similarities.masked_fill(~relevant, -math.inf).amax(dim=1)
# +     reciprocal = (found / places).amax(dim=1).masked_fill(best == -math.inf, 0.0)
# +     return inside > 0, recall, reciprocal


# %% wrong: lowest_of_minus_1e12 | says: Similarities of -1e12 beside
# -         similarities.detach().gather(1, wrong_first),
# +         similarities.detach().clamp(min=-1e12).gather(1, wrong_first),


# %% wrong: share_of_what_fits, of: loops | says: with equal scores and without
# -         recalls.append(len(inside) / len(places) if places else 0.0)
# +         recalls.append(len(inside) / min(k, len(places)) if places else 0.0)


# %% wrong: one_more_than_k | says: the first k \+ 1 candidates count
# -     inside = found[:, :k].sum(dim=1)  # (B, n) -> (B,)
# +     inside = found[:, : k + 1].sum(dim=1)


# %% wrong: hit_anywhere | says: behind the first k count as well
# -     return inside > 0, recall, (found / places).amax(dim=1)
# +     return found.sum(dim=1) > 0, recall, (found / places).amax(dim=1)


# %% wrong: recall_is_a_number | says: a number of right answers, and no share
# -     recall = inside / found.sum(dim=1).clamp(min=1)
# +     recall = inside


# %% wrong: error_names_top_k | says: as a word of its own
# -         raise ValueError(f"k: expected at least 1, got {k}")
# +         raise ValueError(f"top_k must be positive, got {k}")


# %% wrong: hit_always | says: that has no right answer at all
# -     return inside > 0, recall, (found / places).amax(dim=1)
# +     return inside >= 0, recall, (found / places).amax(dim=1)


# %% wrong: one_place_for_all, of: counting | says: they have the places 3 and 4
# Right answers of the same similarity stand at one place.
# -     before = before | (equal & relevant[:, None, :] & earlier)


# %% wrong: ranks_for_the_order | says: recall, k = 3: relevant is read at the ranks
# -     found = relevant.gather(1, wrong_first.gather(1, order))  # (B, n), in order
# +     order = similarities.argsort(dim=1, descending=True)
# +     found = relevant.gather(1, order.argsort(dim=1))


# %% wrong: equals_share_a_place | says: share a place, the first of theirs
# -     return inside > 0, recall, (found / places).amax(dim=1)
# +     scores = similarities.detach()
# +     places = 1 + (scores[:, None] > scores[:, :, None]).sum(dim=2)
# +     found = relevant.to(scores.dtype)
# +     inside = (found * (places <= k)).sum(dim=1)
# +     recall = inside / found.sum(dim=1).clamp(min=1)
# +     return inside > 0, recall, (found / places).amax(dim=1)


# %% wrong: lowered_by_a_factor, of: two_sorts | says: works the other way round below 0
# -     rows = torch.arange(len(relevant))[:, None]
# -     first = relevant.long().argsort(dim=1, stable=True)
# -     order = similarities[rows, first].argsort(dim=1, descending=True, stable=True)
# -     table = relevant[rows, first[rows, order]]
# +     lowered = similarities.detach() * (1 - 1e-6 * relevant)
# +     table = relevant.gather(1, lowered.argsort(dim=1, descending=True, stable=True))

# %% right: loops
def hide_tokens(ids, special, mask_id, vocab_size, generator, share=0.15):
    u = torch.rand(ids.shape, generator=generator)
    v = torch.rand(ids.shape, generator=generator)
    words = [i for i in range(vocab_size) if i not in special]
    r = torch.randint(len(words), ids.shape, generator=generator)
    corrupted, answers = ids.clone(), torch.full_like(ids, -100)
    for b in range(ids.shape[0]):
        ordinary = [t for t in range(ids.shape[1]) if int(ids[b, t]) not in special]
        if not ordinary:
            continue
        number = max(1, int(torch.round(torch.tensor(share * len(ordinary)))))
        ordinary.sort(key=lambda t: float(u[b, t]))
        for t in ordinary[:number]:
            answers[b, t] = ids[b, t]
            if v[b, t] < 0.8:
                corrupted[b, t] = mask_id
            elif v[b, t] < 0.9:
                corrupted[b, t] = words[int(r[b, t])]
    return corrupted, answers


# %% right: threshold
# The largest draw that is still chosen, and everything up to it.
def hide_tokens(ids, special, mask_id, vocab_size, generator, share=0.15):
    size = max(vocab_size, *special, int(ids.max())) + 1
    is_special = torch.zeros(size, dtype=torch.bool)
    is_special[special] = True
    words = (~is_special[:vocab_size]).nonzero()[:, 0]
    u, v = (torch.rand(ids.shape, generator=generator) for _ in range(2))
    r = torch.randint(words.numel(), ids.shape, generator=generator)
    ordinary = ~is_special[ids]
    n = ordinary.sum(1, keepdim=True)
    m = torch.round(share * n).long().clamp(min=1)
    u = torch.where(ordinary, u, math.inf)
    limit = u.sort(dim=1).values.gather(1, m - 1)
    chosen = ordinary & (u <= limit)
    new = torch.where(v < 0.8, mask_id, torch.where(v < 0.9, words[r], ids))
    return torch.where(chosen, new, ids), torch.where(chosen, ids, -100)


# %% right: scatter
def hide_tokens(ids, special, mask_id, vocab_size, generator, share=0.15):
    u = torch.rand(ids.shape, generator=generator)
    v = torch.rand(ids.shape, generator=generator)
    kept = sorted(set(range(vocab_size)).difference(special))
    r = torch.randint(len(kept), ids.shape, generator=generator)
    forbidden = (ids[..., None] == torch.tensor(special)).any(-1)
    order = (u + forbidden).argsort(dim=1)
    number = (share * (~forbidden).sum(1)).round().clamp(min=1)
    first = torch.arange(ids.shape[1]) < number[:, None]
    chosen = torch.zeros_like(forbidden).scatter(1, order, first) & ~forbidden
    corrupted = ids.clone()
    corrupted[chosen & (v < 0.8)] = mask_id
    swap = chosen & (v >= 0.8) & (v < 0.9)
    corrupted[swap] = torch.tensor(kept)[r[swap]]
    return corrupted, ids.where(chosen, torch.tensor(-100))


# %% wrong: coin_for_each_token | says: however many these are
# -     chosen = ordinary & (place < number)
# +     chosen = ordinary & (order < share)


# %% wrong: largest_draws | says: largest draws are chosen
# -     place = order.masked_fill(~ordinary, 2.0).argsort(dim=1).argsort(dim=1)
# +     place = (-order).masked_fill(~ordinary, 2.0).argsort(dim=1).argsort(dim=1)


# %% wrong: special_chosen | says: special token is chosen
# -     ordinary = ~torch.isin(ids, special)
# +     ordinary = ids >= 0


# %% wrong: special_use_up | says: use up the number
# -     place = order.masked_fill(~ordinary, 2.0).argsort(dim=1).argsort(dim=1)
# +     place = order.argsort(dim=1).argsort(dim=1)


# %% wrong: argsort_once | says: answers
# argsort gives who stands at a place, and not who has which place.
# -     place = order.masked_fill(~ordinary, 2.0).argsort(dim=1).argsort(dim=1)
# +     place = order.masked_fill(~ordinary, 2.0).argsort(dim=1)


# %% wrong: share_of_all_tokens | says: answers
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.tensor(float(round(share * ids.shape[1]))).clamp(min=1)


# %% wrong: rounded_down | says: answers: the number is rounded down
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.floor(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)


# %% wrong: none_at_least | says: At least one is chosen
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.round(share * ordinary.sum(dim=1, keepdim=True))


# %% wrong: chosen_without_ordinary | says: has nothing to choose|special token is chosen
# -     chosen = ordinary & (place < number)
# +     chosen = place < number


# %% wrong: all_answers | says: They ask only for the chosen
# -     return corrupted, ids.masked_fill(~chosen, -100)
# +     return corrupted, ids.clone()


# %% wrong: corrupted_answers | says: hold the original ones
# -     return corrupted, ids.masked_fill(~chosen, -100)
# +     return corrupted, corrupted.masked_fill(~chosen, -100)


# %% wrong: answers_only_where_changed | says: also one that stays|answers
# -     return corrupted, ids.masked_fill(~chosen, -100)
# +     return corrupted, ids.masked_fill(corrupted == ids, -100)


# %% wrong: always_masked | says: chosen tokens all become mask_id
# -     corrupted = torch.where(chosen & (fate < 0.8), mask_id, ids)
# -     random = chosen & (fate >= 0.8) & (fate < 0.9)
# -     corrupted = torch.where(random, words[which], corrupted)
# +     corrupted = torch.where(chosen, mask_id, ids)


# %% wrong: never_random | says: nothing becomes a random token
# -     corrupted = torch.where(random, words[which], corrupted)


# %% wrong: random_from_all_ids | says: special ids must never come up
# -     corrupted = torch.where(random, words[which], corrupted)
# +     corrupted = torch.where(random, which, corrupted)


# %% wrong: random_moved | says: need not be the first ids
# -     corrupted = torch.where(random, words[which], corrupted)
# +     corrupted = torch.where(random, which + len(special), corrupted)


# %% wrong: last_tenth_random | says: random: swap them
# -     random = chosen & (fate >= 0.8) & (fate < 0.9)
# +     random = chosen & (fate >= 0.9)


# %% wrong: one_draw_for_both | says: The second draw does
# -     fate = torch.rand(ids.shape, generator=generator)
# +     torch.rand(ids.shape, generator=generator)
# +     fate = order


# %% wrong: global_generator | says: global generator|answers
# -     order = torch.rand(ids.shape, generator=generator)
# -     fate = torch.rand(ids.shape, generator=generator)
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     order = torch.rand(ids.shape)
# +     fate = torch.rand(ids.shape)
# +     which = torch.randint(len(words), ids.shape)


# %% wrong: draws_only_what_it_needs, of: scatter | says: stands where it stands after draw 2
# -     r = torch.randint(len(kept), ids.shape, generator=generator)
# -     forbidden = (ids[..., None] == torch.tensor(special)).any(-1)
# +     forbidden = (ids[..., None] == torch.tensor(special)).any(-1)

# -     corrupted[swap] = torch.tensor(kept)[r[swap]]
# +     r = torch.randint(len(kept), (int(swap.sum()),), generator=generator)
# +     corrupted[swap] = torch.tensor(kept)[r]


# %% wrong: draw_order | says: answers|corrupted
# -     order = torch.rand(ids.shape, generator=generator)
# -     fate = torch.rand(ids.shape, generator=generator)
# +     fate = torch.rand(ids.shape, generator=generator)
# +     order = torch.rand(ids.shape, generator=generator)


# %% wrong: writes_into_ids, of: scatter | says: changes ids in place
# -     corrupted = ids.clone()
# +     corrupted = ids


# %% wrong: appends_to_special, of: loops | says: list special in place
# -     words = [i for i in range(vocab_size) if i not in special]
# +     special.append(mask_id)
# +     words = [i for i in range(vocab_size) if i not in special]


# %% wrong: rounded_up | says: number is rounded up
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.ceil(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)


# %% wrong: random_among_all | says: random tokens are drawn among all ids
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     which = torch.randint(vocab_size, ids.shape, generator=generator)
#       ordinary = ~torch.isin(ids, special)

# -     corrupted = torch.where(random, words[which], corrupted)
# +     corrupted = torch.where(random, which, corrupted)


# %% wrong: token_before_fate | says: draws 2 and 3 are exchanged
# -     fate = torch.rand(ids.shape, generator=generator)
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     which = torch.randint(len(words), ids.shape, generator=generator)
# +     fate = torch.rand(ids.shape, generator=generator)


# %% right: ranks
def hide_tokens(ids, special, mask_id, vocab_size, generator, share=0.15):
    ordinary_ids = torch.tensor([i for i in range(vocab_size) if i not in special])
    first = torch.rand(ids.shape, generator=generator)
    second = torch.rand(ids.shape, generator=generator)
    third = torch.randint(len(ordinary_ids), ids.shape, generator=generator)

    ordinary = ~torch.isin(ids, torch.tensor(special))
    rank = first.masked_fill(~ordinary, 2.0).argsort(dim=1).argsort(dim=1)
    number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
    chosen = ordinary & (rank < number)

    corrupted = torch.where(chosen & (second < 0.8), mask_id, ids)
    random = chosen & (second >= 0.8) & (second < 0.9)
    corrupted = torch.where(random, ordinary_ids[third], corrupted)
    return corrupted, torch.where(chosen, ids, -100)


# %% wrong: stays_unasked, of: ranks | says: stays as it is has no answer. Each chosen one is asked\.(?! And)
# Chosen tokens that stay as they are (or are replaced by themselves) have no answer.
# -     return corrupted, torch.where(chosen, ids, -100)
# +     return corrupted, torch.where(corrupted != ids, ids, -100)


# %% wrong: ordinary_within_the_vocabulary | says: ids beyond the vocabulary are taken for special
# -     ordinary = ~torch.isin(ids, special)  # (B, T)
# +     ordinary = torch.isin(ids, words)


# %% wrong: none_for_a_share_of_0 | says: A share of 0
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.round(share * ordinary.sum(dim=1, keepdim=True))
# +     number = number.clamp(min=1 if share else 0)


# %% wrong: order_of_a_set | says: rising order
# The ordinary ids stand in the order of a set.
# -     special = torch.tensor(special)
# -     vocabulary = torch.arange(vocab_size)
# -     words = vocabulary[~torch.isin(vocabulary, special)]  # the ordinary ids
# +     words = torch.tensor(list(set(range(vocab_size)) - set(special)))
# +     special = torch.tensor(special)


# %% wrong: special_within_the_vocabulary | says: which the text often has|Ids beyond
# -     ordinary = ~torch.isin(ids, special)  # (B, T)
# +     ordinary = ~torch.isin(ids, special[special < vocab_size])


# %% wrong: one_id_needs_no_draw | says: three draws are asked for
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     which = torch.zeros_like(ids)
# +     if len(words) > 1:
# +         which = torch.randint(len(words), ids.shape, generator=generator)


# %% wrong: n_counts_different_ids | says: counts tokens, not different ids
def hide_tokens(ids, special, mask_id, vocab_size, generator, share=0.15):
    banned = set(special)
    ordinary_ids = torch.tensor([i for i in range(vocab_size) if i not in banned])
    draw = torch.rand(ids.shape, generator=generator)
    fate = torch.rand(ids.shape, generator=generator)
    number = torch.randint(len(ordinary_ids), ids.shape, generator=generator)
    ordinary = ~torch.isin(ids, torch.tensor(sorted(banned)))
    n = torch.tensor([len(set(row[o].tolist())) for row, o in zip(ids, ordinary)])
    count = torch.round(share * n).clamp(min=1)
    place = draw.masked_fill(~ordinary, 2.0).argsort(dim=1).argsort(dim=1)
    chosen = (place < count[:, None]) & ordinary
    corrupted = torch.where(chosen & (fate < 0.8), torch.full_like(ids, mask_id), ids)
    corrupted = torch.where(
        chosen & (fate >= 0.8) & (fate < 0.9), ordinary_ids[number], corrupted
    )
    answers = ids.masked_fill(~chosen, -100)
    return corrupted, answers


# %% wrong: special_counted_twice | says: takes the place of one, not of two
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     size = vocab_size - int((special < vocab_size).sum())
# +     which = torch.randint(size, ids.shape, generator=generator)


# %% wrong: beyond_takes_a_place | says: takes no place in it
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     size = vocab_size - len(special.unique())
# +     which = torch.randint(size, ids.shape, generator=generator)


# %% wrong: ids_in_float32 | says: which float32 rounds.*: corrupted: wrong, first
# -     ordinary = ~torch.isin(ids, special)  # (B, T)
# +     ordinary = ~torch.isin(ids.float(), special.float())


# %% wrong: ids_in_int16 | says: equal in their last bits
# -     ordinary = ~torch.isin(ids, special)  # (B, T)
# +     ordinary = ~torch.isin(ids.short(), special.short())


# %% wrong: nobody_chosen | says: all are -100
# -     chosen = ordinary & (place < number)
# +     chosen = ordinary & (place < 0 * number)


# %% wrong: unasked_is_minus_101 | says: nothing is -100
# -     return corrupted, ids.masked_fill(~chosen, -100)
# +     return corrupted, ids.masked_fill(~chosen, -101)


# %% wrong: staying_unasked_and_rounded_down | says: And the number is rounded down
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.floor(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)

# -     return corrupted, ids.masked_fill(~chosen, -100)
# +     return corrupted, ids.masked_fill(~(chosen & (fate < 0.9)), -100)


# %% wrong: one_is_left | says: With a share of 1, all are
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     most = (ordinary.sum(dim=1, keepdim=True) - 1).clamp(min=1)
# +     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = number.minimum(most)


# %% wrong: mask_within_the_vocabulary | says: right but what a hidden token becomes
# -     corrupted = torch.where(chosen & (fate < 0.8), mask_id, ids)
# +     mask_id = min(mask_id, vocab_size - 1)
# +     corrupted = torch.where(chosen & (fate < 0.8), mask_id, ids)


# %% wrong: one_token_more | says: one token more is chosen in each sentence
# -     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)).clamp(min=1)
# +     number = torch.round(share * ordinary.sum(dim=1, keepdim=True)) + 1


# %% wrong: global_generator_seeded | says: drawn from, or seeded
#       words = vocabulary[~torch.isin(vocabulary, special)]  # the ordinary ids
# +     torch.manual_seed(0)


# %% wrong: len_of_special | says: len\(special\) isn't how many there are
# -     which = torch.randint(len(words), ids.shape, generator=generator)
# +     size = vocab_size - len(special)
# +     which = torch.randint(size, ids.shape, generator=generator)

# %% right: closed_batches
def make_batches(lengths, max_tokens):
    rows = sorted((t, s, i) for i, (s, t) in enumerate(lengths))
    batches = []
    for t, s, i in rows:
        if max(s, t) > max_tokens:
            raise ValueError(f"sentence {i} has more than max_tokens={max_tokens}")
        if batches:
            both = [*batches[-1], i]
            sides = zip(*[lengths[j] for j in both], strict=True)
            if all(len(both) * max(side) <= max_tokens for side in sides):
                batches[-1] = both
                continue
        batches.append([i])
    return batches


def padding_share(lengths, batches):
    pads = cells = 0
    for batch in batches:
        for side in zip(*[lengths[i] for i in batch], strict=True):
            pads += sum(max(side) - length for length in side)
            cells += max(side) * len(side)
    return pads / max(cells, 1)


def shuffle_batches(batches, seed):
    generator = torch.Generator().manual_seed(seed)
    return [
        batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()
    ]


# %% right: tensors
def make_batches(lengths, max_tokens):
    if not lengths:
        return []
    if max(map(max, lengths)) > max_tokens:
        raise ValueError(
            f"max_tokens={max_tokens} is too small for the longest sentence"
        )
    table = torch.tensor(lengths)
    order = table[:, 0].argsort(stable=True)
    order = order[table[order, 1].argsort(stable=True)]
    batches, start = [], 0
    for end in range(1, len(order) + 1):
        last = end == len(order)
        if (
            last
            or (end + 1 - start) * int(table[order[start : end + 1]].max()) > max_tokens
        ):
            batches.append(order[start:end].tolist())
            start = end
    return batches


def padding_share(lengths, batches):
    if not batches:
        return 0.0
    cells = used = 0
    for batch in batches:
        table = torch.tensor([lengths[i] for i in batch])
        cells += int(table.amax(0).sum()) * len(batch)
        used += int(table.sum())
    return (cells - used) / cells


def shuffle_batches(batches, seed):
    return random.Random(seed).sample(batches, len(batches))


# %% right: keyed_by_seed
def make_batches(lengths, max_tokens):
    batches = []
    order = list(range(len(lengths)))
    order.sort(key=lambda i: lengths[i][0])
    order.sort(key=lambda i: lengths[i][1])
    for pair in lengths:
        if max(pair) > max_tokens:
            raise ValueError(f"{pair} does not fit into max_tokens = {max_tokens}")
    wide_s = wide_t = 0
    for i in order:
        s, t = max(wide_s, lengths[i][0]), max(wide_t, lengths[i][1])
        size = len(batches[-1]) + 1 if batches else 1
        if not batches or size * s > max_tokens or size * t > max_tokens:
            batches.append([])
            s, t = lengths[i]
        batches[-1].append(i)
        wide_s, wide_t = s, t
    return batches


def padding_share(lengths, batches):
    from fractions import Fraction

    cells, real = 0, 0
    for batch in batches:
        if batch:
            cells += len(batch) * (
                max(lengths[i][0] for i in batch) + max(lengths[i][1] for i in batch)
            )
            real += sum(sum(lengths[i]) for i in batch)
    return float(Fraction(cells - real, cells)) if cells else 0.0


def shuffle_batches(batches, seed):
    generator = random.Random(f"shuffle {seed}")
    keys = [generator.random() for _ in batches]
    return [batch for _, batch in sorted(zip(keys, batches), key=lambda pair: pair[0])]


# %% right: reseeds_global
# -     random.Random(seed).shuffle(order)
# +     random.seed(seed)
# +     random.shuffle(order)


# %% wrong: below_budget | says: max_tokens is allowed
# A full batch is taken for too large.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         if batch and (len(batch) + 1) * max(widest, longer) >= max_tokens:


# %% wrong: both_together | says: source and target together
# Both rectangles share one budget.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         used = [lengths[j] for j in [*batch, i]]
# +         if batch and len(used) * sum(map(max, zip(*used, strict=True))) > max_tokens:


# %% wrong: by_source | says: sorted by source first
# The sentences are sorted by source.
# -     for i in sorted(
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# -     ):
# +     for i in sorted(range(len(lengths)), key=lambda i: (*lengths[i], i)):


# %% wrong: by_sum | says: sum of both
# The sentences are sorted by the sum of both lengths.
# -     for i in sorted(
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# -     ):
# +     for i in sorted(range(len(lengths)), key=lambda i: (sum(lengths[i]), i)):


# %% wrong: changes_lengths | says: must not change `lengths`
# The list of lengths is sorted in place in the end.
# +     lengths.sort()
#       return batches


# %% wrong: checked_late | says: becomes too large
# The budget is asked before the new sentence is counted.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         if batch and len(batch) * widest >= max_tokens:


# %% wrong: empty_batch | says: empty batch
# No sentences give one empty batch.
# -     if batch:
# -         batches.append(batch)
# +     batches.append(batch)


# %% wrong: error_without_name | says: must contain max_tokens
# The error does not name the argument.
# -             raise ValueError(
# -                 f"max_tokens: expected at least {longer}, got {max_tokens}"
# -             )
# +             raise ValueError("a sentence is too long")


# %% wrong: holds_lengths | says: hold the lengths
# The batches hold the pairs of lengths.
# -         batch.append(i)
# +         batch.append(lengths[i])


# %% wrong: last_missing | says: last batch is missing
# What is open at the end is lost.
# -     if batch:
# -         batches.append(batch)


# %% wrong: longest_first | says: longest sentences come first
# The order is turned round.
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# +         range(len(lengths)), key=lambda i: (-lengths[i][1], -lengths[i][0], i)


# %% wrong: own_length | says: longest\* in the batch decides
# The width of the new pair counts for the whole batch.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         if batch and (len(batch) + 1) * longer > max_tokens:


# %% wrong: places | says: places in the sorted order
# The batches hold places in the sorted list.
# -     for i in sorted(
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# -     ):
# -         longer = max(lengths[i])
# +     for i, pair in enumerate(sorted(lengths, key=lambda pair: pair[::-1])):
# +         longer = max(pair)


# %% wrong: real_tokens | says: It counts cells
# The tokens are added up; padding costs nothing.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         used = [lengths[j] for j in [*batch, i]]
# +         if batch and max(map(sum, zip(*used, strict=True))) > max_tokens:


# %% wrong: share_common_width | says: one common width
# Source and target are padded to one width.
# -             cells += len(row) * max(row)
# +             cells += len(row) * max(max(lengths[i]) for i in batch)


# %% wrong: share_count | says: number of padding cells
# The number of padding cells.
# -     return 1 - used / cells if cells else 0.0
# +     return float(cells - used)


# %% wrong: share_empty | says: no batches is 0
# No batches divide by zero.
# -     return 1 - used / cells if cells else 0.0
# +     return 1 - used / cells


# %% wrong: share_mean | says: mean of the batches' shares
# The shares of the batches are averaged.
# -     cells = used = 0
# +     shares = []
#       for batch in batches:
# +         cells = used = 0
#           for side in (0, 1):

# -     return 1 - used / cells if cells else 0.0
# +         shares.append(1 - used / cells)
# +     return sum(shares) / len(shares) if shares else 0.0


# %% wrong: share_of_real | says: divided by real tokens
# Padding divided by real tokens.
# -     return 1 - used / cells if cells else 0.0
# +     return (cells - used) / used if cells else 0.0


# %% wrong: share_source | says: only the source is counted
# Only the source rectangle is counted.
# -         for side in (0, 1):
# +         for side in (0,):


# %% wrong: share_target | says: only the target is counted
# Only the target rectangle is counted.
# -         for side in (0, 1):
# +         for side in (1,):


# %% wrong: share_used | says: share of real tokens
# The share of real tokens.
# -     return 1 - used / cells if cells else 0.0
# +     return used / cells if cells else 0.0


# %% wrong: shuffle_common | says: the common generators of torch and random
# The generator that everybody uses.
# -     order = list(batches)
# -     random.Random(seed).shuffle(order)
# -     return order
# +     return [batches[i] for i in torch.randperm(len(batches)).tolist()]


# %% wrong: shuffle_in_place | says: must not change its argument
# The list is shuffled in place.
# -     order = list(batches)
# +     order = batches


# %% wrong: shuffle_inside | says: sentences were mixed
# The sentences are shuffled, too.
# -     order = list(batches)
# -     random.Random(seed).shuffle(order)
# -     return order
# +     ids = [i for batch in batches for i in batch]
# +     random.Random(seed).shuffle(ids)
# +     out = []
# +     for batch in batches:
# +         out.append(ids[: len(batch)])
# +         ids = ids[len(batch) :]
# +     return out


# %% wrong: shuffle_rotates | says: two different seeds
# The order is only rotated, and seeds share rotations.
# -     order = list(batches)
# -     random.Random(seed).shuffle(order)
# -     return order
# +     start = seed % max(len(batches) // 3, 1) + 1
# +     return batches[start:] + batches[:start]


# %% wrong: shuffle_seed_ignored | says: eight different seeds
# The seed is a constant.
# -     random.Random(seed).shuffle(order)
# +     random.Random(0).shuffle(order)


# %% wrong: shuffle_with_repeats | says: none lost, none twice
# Batches are drawn with repetition.
# -     order = list(batches)
# -     random.Random(seed).shuffle(order)
# -     return order
# +     return random.Random(seed).choices(batches, k=len(batches))


# %% wrong: sorted_inside | says: aren't in the order of rule 1
# The indices in a batch are sorted.
# -     return batches
# +     return [sorted(batch) for batch in batches]


# %% wrong: source_only | says: only the source is held
# Only the source counts.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         if batch and (len(batch) + 1) * max(lengths[j][0] for j in [*batch, i]) > max_tokens:


# %% wrong: target_only | says: only the target is held
# Only the target counts.
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         if batch and (len(batch) + 1) * max(lengths[j][1] for j in [*batch, i]) > max_tokens:


# %% wrong: ties_reversed | says: falling order of their indices
# Equal pairs stand in reverse.
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# +         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], -i)


# %% wrong: ties_unsorted | says: equal targets aren't sorted
# Only the target is sorted.
# -     for i in sorted(
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# -     ):
# +     for i in sorted(range(len(lengths)), key=lambda i: lengths[i][1]):


# %% wrong: too_long_dropped | says: neither dropped nor let into a batch
# A sentence that is too long is left out.
# -             raise ValueError(
# -                 f"max_tokens: expected at least {longer}, got {max_tokens}"
# -             )
# +             continue


# %% wrong: too_long_kept | says: neither dropped nor let into a batch
# A sentence that is too long gets a batch.
# -         if longer > max_tokens:
# -             raise ValueError(
# -                 f"max_tokens: expected at least {longer}, got {max_tokens}"
# -             )


# %% wrong: unsorted | says: long and short ones share a batch
# The sentences are taken as they come.
# -     for i in sorted(
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# -     ):
# +     for i in range(len(lengths)):


# %% wrong: shuffle_by_content | says: hangs on their number and the seed alone
# -     order = list(batches)
# +     order = sorted(batches)

# %% wrong: shuffle_one_swap | says: keep their places or their neighbours
# -     random.Random(seed).shuffle(order)
# +     if len(order) > 1:
# +         i, j = random.Random(seed).sample(range(len(order)), 2)
# +         order[i], order[j] = order[j], order[i]

# %% wrong: shuffle_rotation | says: keep their places or their neighbours
# -     random.Random(seed).shuffle(order)
# +     k = random.Random(seed).randrange(len(order)) if order else 0
# +     order = order[k:] + order[:k]

# %% wrong: shuffle_few_seeds | says: some seeds give the same order
# -     random.Random(seed).shuffle(order)
# +     random.Random(seed % 12).shuffle(order)

# %% wrong: hash_of_batch | says: hangs on their number and the seed alone
# -     order = list(batches)
# -     random.Random(seed).shuffle(order)
# -     return order
# +     return sorted(batches, key=lambda b: random.Random(seed * 1000003 + hash(tuple(b))).random())

# %% wrong: share_of_all_sentences | says: tokens of a sentence that is in no batch were counted
# -             used += sum(row)
# +     used = sum(sum(pair) for pair in lengths)

# %% wrong: first_fit | says: closed already
# -         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:
# +         fits = [b for b in batches if (len(b) + 1) * max(longer, *(max(lengths[j]) for j in b)) <= max_tokens]
# +         if fits:
# +             fits[0].append(i)
# +             continue
# +         if batch and (len(batch) + 1) * max(widest, longer) > max_tokens:

# %% wrong: shuffles_halves | says: some batch never comes first
# -     random.Random(seed).shuffle(order)
# +     half = len(order) // 2
# +     first, second = order[:half], order[half:]
# +     random.Random(seed).shuffle(first)
# +     random.Random(seed + 1).shuffle(second)
# +     order = first + second


# %% right: recursive
def rectangle(lengths, batch, side):
    return len(batch) * max([lengths[b][side] for b in batch], default=0)


def split(lengths, order, limit):
    if not order:
        return []
    size = 1
    while size < len(order) and all(
        rectangle(lengths, order[: size + 1], k) <= limit for k in (0, 1)
    ):
        size += 1
    return [order[:size]] + split(lengths, order[size:], limit)


def make_batches(lengths, max_tokens):
    if any(max(pair) > max_tokens for pair in lengths):
        raise ValueError(f"max_tokens={max_tokens} is too small")
    order = list(range(len(lengths)))
    order.sort(key=lambda b: lengths[b][0])
    order.sort(key=lambda b: lengths[b][1])
    return split(lengths, order, max_tokens)


def padding_share(lengths, batches):
    total = sum(rectangle(lengths, batch, k) for batch in batches for k in (0, 1))
    full = sum(lengths[b][k] for batch in batches for b in batch for k in (0, 1))
    return 1 - full / total if total else 0.0


def shuffle_batches(batches, seed):
    g = torch.Generator()
    g.manual_seed(seed)
    return [list(batches[i]) for i in torch.randperm(len(batches), generator=g)]


# %% right: plain
def make_batches(lengths, max_tokens):
    for s, t in lengths:
        if s > max_tokens or t > max_tokens:
            raise ValueError("a pair has more tokens than max_tokens")
    order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], b))
    batches, batch, wide_s, wide_t = [], [], 0, 0
    for b in order:
        s, t = lengths[b]
        new_s, new_t = max(wide_s, s), max(wide_t, t)
        if batch and (len(batch) + 1) * max(new_s, new_t) > max_tokens:
            batches.append(batch)
            batch, new_s, new_t = [], s, t
        batch.append(b)
        wide_s, wide_t = new_s, new_t
    if batch:
        batches.append(batch)
    return batches


def padding_share(lengths, batches):
    cells = real = 0
    for batch in batches:
        for side in (0, 1):
            here = [lengths[b][side] for b in batch]
            cells += len(here) * max(here)
            real += sum(here)
    return (cells - real) / cells if cells else 0.0


def shuffle_batches(batches, seed):
    order = list(range(len(batches)))
    random.Random(seed).shuffle(order)
    return [batches[i] for i in order]


# %% wrong: width_kept_after_close, of: plain | says: keeps the widest
# The new batch keeps the widest sentence of the closed one.

# -             batch, new_s, new_t = [], s, t
# +             batch = []


# %% wrong: reversed_ties, of: plain | says: falling order
# Where both lengths are equal, the larger index comes first.

# -     order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], b))
# +     order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], -b))


# %% wrong: seed_zero_is_none, of: plain | says: seed 0 gave two orders
# Seed 0 is taken for no seed: another order each time.

# -     random.Random(seed).shuffle(order)
# +     random.Random(seed or None).shuffle(order)


# %% wrong: rounded_share, of: plain | says: this is rounded
# The share is rounded to four digits.

# -     return (cells - real) / cells if cells else 0.0
# +     return round((cells - real) / cells, 4) if cells else 0.0

# %% wrong: tokens_of_all | says: in no batch
# -     cells = used = 0
# +     cells, used = 0, sum(map(sum, lengths))

# -             used += sum(row)


# %% wrong: never_the_old_order | says: never keep the order that they had
def make_batches(lengths, max_tokens):
    if any(max(pair) > max_tokens for pair in lengths):
        raise ValueError("a sentence is longer than max_tokens")
    order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], b))
    batches, current, longest = [], [], 0
    for b in order:
        new = max(longest, *lengths[b])
        if current and new * (len(current) + 1) > max_tokens:
            batches.append(current)
            current, new = [], max(lengths[b])
        current.append(b)
        longest = new
    if current:
        batches.append(current)
    return batches


def padding_share(lengths, batches):
    cells = real = 0
    for batch in batches:
        for side in (0, 1):
            sizes = [lengths[b][side] for b in batch]
            cells += len(sizes) * max(sizes)
            real += sum(sizes)
    return (cells - real) / cells if cells else 0.0


def shuffle_batches(batches, seed):
    result = list(batches)
    generator = random.Random(seed)
    while True:
        generator.shuffle(result)
        if len(batches) < 2 or result != list(batches):
            break
    return result


# %% wrong: order_kept_by_seed | says: something is kept between calls
# -     order = list(batches)
# -     random.Random(seed).shuffle(order)
# -     return order
# +     places = ORDERS.setdefault(seed, [])
# +     if len(places) < len(batches):
# +         places[:] = range(len(batches))
# +         random.Random(seed).shuffle(places)
# +     return [batches[place] for place in places if place < len(batches)]
# +
# +
# + ORDERS = {}


# %% wrong: sentences_counted_once | says: Sentences in two batches
def make_batches(lengths, max_tokens):
    for source, target in lengths:
        if max(source, target) > max_tokens:
            raise ValueError("a sentence is longer than max_tokens")
    order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], b))
    batches, batch, longest = [], [], 0
    for b in order:
        wider = max(longest, *lengths[b])
        if batch and wider * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, wider = [], max(lengths[b])
        batch.append(b)
        longest = wider
    if batch:
        batches.append(batch)
    return batches


def padding_share(lengths, batches):
    cells = real = 0
    for batch in batches:
        for side in (0, 1):
            row = [lengths[b][side] for b in batch]
            cells += len(row) * max(row)
            pass
    seen = {b for batch in batches for b in batch}
    real = sum(sum(lengths[b]) for b in seen)
    return (cells - real) / cells if cells else 0.0


def shuffle_batches(batches, seed):
    order = list(batches)
    random.Random(seed).shuffle(order)
    return order


# %% wrong: none_stays | says: never keep the order
def make_batches(lengths, max_tokens):
    for source, target in lengths:
        if max(source, target) > max_tokens:
            raise ValueError("a sentence is longer than max_tokens")
    order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], b))
    batches, batch, longest = [], [], 0
    for b in order:
        wider = max(longest, *lengths[b])
        if batch and wider * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, wider = [], max(lengths[b])
        batch.append(b)
        longest = wider
    if batch:
        batches.append(batch)
    return batches


def padding_share(lengths, batches):
    cells = real = 0
    for batch in batches:
        for side in (0, 1):
            row = [lengths[b][side] for b in batch]
            cells += len(row) * max(row)
            real += sum(row)
    return (cells - real) / cells if cells else 0.0


def shuffle_batches(batches, seed):
    order = list(batches)
    generator = random.Random(seed)
    for i in range(len(order) - 1, 0, -1):
        j = generator.randrange(i)
        order[i], order[j] = order[j], order[i]
    return order


# %% wrong: generator_kept_for_a_seed | says: kept from an earlier call goes on
# -     random.Random(seed).shuffle(order)
# +     kept = shuffle_batches.__dict__
# +     if kept.get("seed") != seed:
# +         kept.update(seed=seed, own=random.Random(seed))
# +     kept["own"].shuffle(order)


# %% wrong: lengths_in_one_number | says: in which they outweigh a target
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# +         range(len(lengths)), key=lambda i: 100 * lengths[i][1] + lengths[i][0]


# %% wrong: source_as_a_fraction | says: in which they outweigh a target
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# +         range(len(lengths)), key=lambda i: lengths[i][1] + lengths[i][0] / 10**6


# %% wrong: place_in_one_number | says: in which b outweighs a source
# -         range(len(lengths)), key=lambda i: (lengths[i][1], lengths[i][0], i)
# +         range(len(lengths)), key=lambda i: (lengths[i][1], 1000 * lengths[i][0] + i)


# %% wrong: cut_the_deck | says: fails for an empty list of batches
# Only turns the list: the order is always one of the n rotations.
def make_batches(lengths, max_tokens):
    order = sorted(range(len(lengths)), key=lambda b: (lengths[b][1], lengths[b][0], b))
    batches, widest = [], 0
    for b in order:
        longest = max(lengths[b])
        if longest > max_tokens:
            raise ValueError(f"pair {b} is longer than max_tokens = {max_tokens}")
        if batches and (len(batches[-1]) + 1) * max(widest, longest) <= max_tokens:
            batches[-1].append(b)
            widest = max(widest, longest)
        else:
            batches.append([b])
            widest = longest
    return batches


def padding_share(lengths, batches):
    cells = real = 0
    for batch in batches:
        for side in (0, 1):
            sizes = [lengths[b][side] for b in batch]
            cells += len(sizes) * max(sizes)
            real += sum(sizes)
    return (cells - real) / cells if cells else 0.0


def shuffle_batches(batches, seed):
    first = random.Random(seed).randrange(len(batches))
    return batches[first:] + batches[:first]


# %% wrong: seed_zero_is_one | says: different seeds, 0 and 1, gave the same order
# -     random.Random(seed).shuffle(order)
# +     random.Random(seed or 1).shuffle(order)


# %% wrong: share_rounded_down | says: padding_share of .*: expected 0\.09
# The share is 0, and both rectangles are counted.
# -     return 1 - used / cells if cells else 0.0
# +     return (cells - used) // cells if cells else 0.0


# %% wrong: shorter_side | says: neither dropped nor let into
# -         longer = max(lengths[i])
# +         longer = min(lengths[i])


# %% wrong: cells_of_a_common_width | says: cells of rectangles of one common width
# -     cells = used = 0
# +     cells = pads = 0

# -             cells += len(row) * max(row)
# -             used += sum(row)
# +             cells += len(row) * max(max(lengths[i]) for i in batch)
# +             pads += len(row) * max(row) - sum(row)

# -     return 1 - used / cells if cells else 0.0
# +     return pads / cells if cells else 0.0


# %% wrong: equal_batches_once, of: plain | says: of equal batches only one comes back
# -     order = list(range(len(batches)))
# -     random.Random(seed).shuffle(order)
# -     return [batches[i] for i in order]
# +     draw = random.Random(seed)
# +     keys = {tuple(batch): draw.random() for batch in batches}
# +     return [list(batch) for batch in sorted(keys, key=keys.get)]


# %% wrong: drawn_by_first_index, of: plain | says: Permute places, not contents
# A number drawn from what is in a batch decides on its place.
# -     order = list(range(len(batches)))
# -     random.Random(seed).shuffle(order)
# -     return [batches[i] for i in order]
# +     return sorted(batches, key=lambda batch: random.Random(seed + batch[0]).random())

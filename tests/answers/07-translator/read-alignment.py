# %% right: index_add
def word_attention(weights, source_words, target_words):
    source, target = torch.tensor(source_words), torch.tensor(target_words)
    s_keep, t_keep = source >= 0, target >= 0
    mean = weights.mean(dim=0)[t_keep][:, s_keep]
    columns = mean.new_zeros(len(mean), int(source.max()) + 1).index_add(
        1, source[s_keep], mean
    )
    rows = mean.new_zeros(int(target.max()) + 1, columns.shape[1])
    rows = rows.index_add(0, target[t_keep], columns)
    rows = rows / torch.bincount(target[t_keep])[:, None]
    return (rows / rows.sum(dim=1, keepdim=True)).nan_to_num(nan=0.0)


def mutual_links(weights):
    rows = F.one_hot(weights.argmax(1), weights.shape[1]).bool()
    columns = F.one_hot(weights.argmax(0), weights.shape[0]).bool().T
    return [tuple(pair) for pair in (rows & columns & (weights > 0)).nonzero().tolist()]


def uncovered(weights, threshold):
    sums = [sum(row[j] for row in weights.tolist()) for j in range(weights.shape[1])]
    return [j for j in range(len(sums)) if sums[j] < threshold]


def copy_unknown(target, source, weights, unknown):
    best = weights.max(dim=1)
    found = zip(target, best.values.tolist(), best.indices.tolist(), strict=True)
    return [source[j] if w == unknown and value > 0 else w for w, value, j in found]


# %% right: loops
def word_attention(weights, source_words, target_words):
    mean = weights.mean(dim=0)
    table = mean.new_zeros(max(target_words) + 1, max(source_words) + 1)
    for t, i in enumerate(target_words):
        for s, j in enumerate(source_words):
            if i >= 0 and j >= 0:
                table[i, j] += mean[t, s] / target_words.count(i)
    for row in table:
        if row.sum() > 0:
            row /= row.sum().clone()
    return table


def mutual_links(weights):
    table = weights.tolist()
    columns = list(zip(*table, strict=True))
    return [
        (i, j)
        for i, row in enumerate(table)
        for j, column in enumerate(columns)
        if row.index(max(row)) == j and column.index(max(column)) == i and row[j] != 0
    ]


def uncovered(weights, threshold):
    return (weights.sum(dim=0) < threshold).nonzero().flatten().tolist()


def copy_unknown(target, source, weights, unknown):
    words = list(target)
    for i, word in enumerate(words):
        row = weights[i].tolist()
        if word == unknown and any(row):
            words[i] = source[row.index(max(row))]
    return words


# %% right: scatter_add
def word_attention(weights, source_words, target_words):
    heads = weights.double().mean(0)
    S_w, T_w = 1 + max(source_words), 1 + max(target_words)
    columns = []
    for j in range(S_w):
        picked = [s for s, word in enumerate(source_words) if word == j]
        columns.append(heads[:, picked].sum(1))
    table = torch.stack(columns, dim=1)
    rows = [
        table[[t for t, word in enumerate(target_words) if word == i]].mean(0)
        for i in range(T_w)
    ]
    result = torch.stack(rows)
    total = result.sum(1, keepdim=True)
    return torch.where(total == 0, result, result / total).to(weights.dtype)


def mutual_links(weights):
    links = []
    for i in range(weights.shape[0]):
        value, j = weights[i].max(0)
        j = int(j)
        if (
            value > 0
            and not (weights[:i, j] >= value).any()
            and not (weights[i + 1 :, j] > value).any()
        ):
            links.append([i, j])
    return links


def uncovered(weights, threshold):
    return [
        j
        for j, column in enumerate(weights.unbind(1))
        if column.sum().item() < threshold
    ]


def copy_unknown(target, source, weights, unknown):
    result = []
    for i, word in enumerate(target):
        if word == unknown and weights[i].any():
            word = source[torch.argmax(weights[i]).item()]
        result.append(word)
    return result


# %% wrong: copy_all | says: all words were replaced
# Every word is replaced.
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[int(row.argmax())] if row.max() > 0 else word


# %% wrong: copy_from_zero | says: no largest weight
# A row of 0 copies the first source word.
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[int(row.argmax())] if word == unknown else word


# %% wrong: copy_in_place | says: must not change the list
# The list of the target is changed.
# -     return [
# +     target[:] = [
#           source[int(row.argmax())] if word == unknown and row.max() > 0 else word
#           for word, row in zip(target, weights, strict=True)
#       ]
# +     return target


# %% wrong: copy_last | says: Take the first
# Of several largest weights the last one counts.
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[len(row) - 1 - int(row.flip(0).argmax())] if word == unknown and row.max() > 0 else word


# %% wrong: copy_mark_fixed | says: the mark is always <unk> here
# The mark is written into the function.
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[int(row.argmax())] if word == "<unk>" and row.max() > 0 else word


# %% wrong: copy_same_place | says: source word at the same place
# The source word at the same place.
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# -         for word, row in zip(target, weights, strict=True)
# +         source[i] if word == unknown and i < len(source) else word
# +         for i, word in enumerate(target)


# %% wrong: first_head | says: only the first head
# One head is read.
# -     summed = weights.mean(dim=0) @ source
# +     summed = weights[0] @ source  # (h, T, S) -> (T, S) -> (T, S_w)


# %% wrong: in_place | says: must not change weights
# The columns of -1 are set to 0 in the argument.
# +     weights[:, :, torch.tensor(source_words) < 0] = 0.0
#       summed = weights.mean(dim=0) @ source


# %% wrong: largest_head | says: largest weight over the heads
# The largest weight over the heads.
# -     summed = weights.mean(dim=0) @ source
# +     summed = weights.amax(dim=0) @ source  # (h, T, S) -> (T, S) -> (T, S_w)


# %% wrong: links_above_half | says: source word must agree
# Every weight above a half is a link.
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     return [tuple(pair) for pair in (weights > 0.5).nonzero().tolist()]


# %% wrong: links_of_equals | says: mutual_links of equal weights
# Every place that is equal to both largest weights is a link.
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     best = (weights == weights.amax(0)) & (weights == weights.amax(1, keepdim=True))
# +     return [tuple(pair) for pair in (best & (weights > 0)).nonzero().tolist()]


# %% wrong: links_of_zero | says: weight of 0 links nothing
# A weight of 0 is the largest of a row of 0.
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     return [(i, j) for i, j in enumerate(by_row) if by_column[j] == i]


# %% wrong: links_source_first | says: source first
# The source word comes first in a pair.
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# +         (j, i) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0


# %% wrong: links_source_only | says: target word must agree
# The strongest target word of each source word.
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     return sorted((i, j) for j, i in enumerate(by_column) if weights[i, j] > 0)


# %% wrong: links_source_order | says: order of the source
# The links are in the order of the source words.
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# +         (i, j) for j, i in enumerate(by_column) if by_row[i] == j and weights[i, j] > 0


# %% wrong: links_target_only | says: source word must agree
# The strongest source word of each target word.
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     return [(i, j) for i, j in enumerate(by_row) if weights[i, j] > 0]


# %% wrong: links_tensors | says: expected int
# The pairs hold tensors.
#       by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()
# +     rows = weights.argmax(dim=1)

# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# +         (i, j) for i, j in enumerate(rows) if by_column[j] == i and weights[i, j] > 0


# %% wrong: links_union | says: joined
# The links of both directions together.
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     both = [*enumerate(by_row), *[(i, j) for j, i in enumerate(by_column)]]
# +     return sorted({(i, j) for i, j in both if weights[i, j] > 0})


# %% wrong: minus_one_is_last | says: -1 is the last place
# Takes -1 as an index, on both sides.
# -         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).to(weights)
# +         F.one_hot(torch.tensor(words) % (max(words) + 1), max(words) + 1).to(weights)


# %% wrong: minus_one_source | says: -1 is the last place
# Takes -1 as an index of source words.
# +     source = F.one_hot(torch.tensor(source_words) % source.shape[1], source.shape[1]).to(weights)
#       summed = weights.mean(dim=0) @ source


# %% wrong: minus_one_target | says: -1 is the last place
# Takes -1 as an index of target words.
# +     target = F.one_hot(torch.tensor(target_words) % target.shape[1], target.shape[1]).to(weights)
#       summed = weights.mean(dim=0) @ source


# %% wrong: normal_columns | says: columns were divided
# The columns are divided by their sums.
# -     sums = rows.sum(dim=1, keepdim=True)
# +     sums = rows.sum(dim=0, keepdim=True)  # (T_w, S_w) -> (T_w, 1)


# %% wrong: normal_early | says: Divide last
# Each row of a token is divided by its sum, before the mean.
# +     summed = summed / summed.sum(dim=1, keepdim=True).clamp(min=1e-9)
#       rows = (target / target.sum(dim=0)).T @ summed


# %% wrong: not_normal | says: rows don't sum to 1
# The rows are not divided by their sums.
# -     sums = rows.sum(dim=1, keepdim=True)
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return rows


# %% wrong: one_late | says: one place too late
# Row t is taken to have read token t, not written it.
# -     summed = weights.mean(dim=0) @ source
# +     summed = torch.cat([weights[:, 1:], 0 * weights[:, :1]], dim=1).mean(dim=0) @ source  # (h, T, S) -> (T, S) -> (T, S_w)


# %% wrong: softmax | says: softmax was applied
# A softmax over the sums.
# -     sums = rows.sum(dim=1, keepdim=True)
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return rows.softmax(dim=1)


# %% wrong: source_first | says: They are summed
# The first token of a source word.
# -     summed = weights.mean(dim=0) @ source
# +     summed = weights.mean(dim=0) @ (source * (source.cumsum(dim=0) == 1))  # (h, T, S) -> (T, S) -> (T, S_w)


# %% wrong: source_largest | says: They are summed
# The largest weight of the tokens of a source word.
# -     summed = weights.mean(dim=0) @ source
# +     summed = (weights.mean(dim=0)[:, :, None] * source).amax(dim=1)


# %% wrong: source_mean | says: weights are \*summed
# The mean over the tokens of a source word.
# -     summed = weights.mean(dim=0) @ source
# +     summed = weights.mean(dim=0) @ (source / source.sum(dim=0))  # (h, T, S) -> (T, S) -> (T, S_w)


# %% wrong: target_first | says: only the first token of each target
# The first token of a target word.
# -     rows = (target / target.sum(dim=0)).T @ summed
# +     rows = (target * (target.cumsum(dim=0) == 1)).T @ summed  # (T_w, T) @ (T, S_w) -> (T_w, S_w)


# %% wrong: target_last | says: only the last token of each target
# The last token of a target word.
# -     rows = (target / target.sum(dim=0)).T @ summed
# +     rows = (target * (target.cumsum(dim=0) == target.sum(dim=0))).T @ summed  # (T_w, T) @ (T, S_w) -> (T_w, S_w)


# %% wrong: transposed | says: source and target are swapped
# The table is transposed.
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0).T


# %% wrong: uncovered_covered | says: words that are covered
# The words that are covered.
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total >= threshold


# %% wrong: uncovered_largest | says: largest weight was compared
# The largest weight is compared.
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.amax(dim=0).tolist()) if total < threshold


# %% wrong: uncovered_mean | says: mean was compared
# The mean is compared.
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.mean(dim=0).tolist()) if total < threshold


# %% wrong: uncovered_or_equal | says: Less than is meant
# A sum equal to the threshold counts.
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total <= threshold


# %% wrong: uncovered_rows | says: these are sums of rows
# The rows are summed.
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.sum(dim=1).tolist()) if total < threshold


# %% wrong: zero_row_nan | says: A row that sums to 0 stays 0
# A row of 0 is divided by 0.
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return rows / sums


# %% wrong: clamped_sum | says: Small weights
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return rows / sums.clamp(min=1e-12)

# %% wrong: float32_table | says: data type
# -         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).to(weights)
# -         for words in (source_words, target_words)
# +         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).float()
# +         for words in (source_words, target_words)

# -     summed = weights.mean(dim=0) @ source  # (h, T, S) -> (T, S) -> (T, S_w)
# +     summed = weights.float().mean(dim=0) @ source

# %% wrong: links_above_small | says: links of small weights
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# +         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 1e-6

# %% wrong: links_of_float32 | says: Weights that only float64 can tell apart
# -     by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()
# +     weights = weights.float()
# +     by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()

# %% wrong: links_all_ties | says: of equal weights only the first counts
# -     by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()
# -     return [
# -         (i, j) for i, j in enumerate(by_row) if by_column[j] == i and weights[i, j] > 0
# -     ]
# +     top = (weights == weights.amax(1, keepdim=True)) & (weights == weights.amax(0)) & (weights > 0)
# +     return [tuple(p) for p in top.nonzero().tolist()]

# %% wrong: uncovered_float32 | says: Sums that only float64 can tell from the threshold
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.float().sum(dim=0).tolist()) if total < threshold

# %% wrong: copies_parts_of_words | says: holds the mark beside other letters
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[int(row.argmax())] if unknown in word and row.max() > 0 else word

# %% wrong: copies_above_threshold | says: Small
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[int(row.argmax())] if word == unknown and row.max() > 1e-6 else word

# %% wrong: same_list_back | says: argument itself
# -     return [
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +     if unknown not in target:
# +         return target
# +     return [
# +         source[int(row.argmax())] if word == unknown and row.max() > 0 else word

# %% wrong: squeezed | says: One|one
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0).squeeze(0)

# %% wrong: softened_threshold | says: only float64 can tell
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold - 1e-9

# %% wrong: rounded_links | says: weights are rounded
# -     by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()
# +     rounded = (weights * 1e6).round()
# +     by_row, by_column = rounded.argmax(dim=1).tolist(), rounded.argmax(dim=0).tolist()

# %% wrong: minus_one_everywhere | says: One word on each side
# -         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).to(weights)
# +         (torch.tensor(words)[:, None] == torch.arange(len(set(words)) - (min(words) < 0))).to(weights) * (torch.tensor(words) != 0 if max(words) == 0 and len(words) > 5 else torch.ones(len(words)).bool())[:, None]


# %% right: index_add_again
def word_attention(weights, source_words, target_words):
    columns = [j for j, w in enumerate(source_words) if w != -1]
    rows = [i for i, w in enumerate(target_words) if w != -1]
    small = weights.mean(dim=0)[rows][:, columns]
    to_column = torch.tensor([source_words[j] for j in columns])
    to_row = torch.tensor([target_words[i] for i in rows])
    a = small.new_zeros(len(rows), int(to_column.max()) + 1).index_add(
        1, to_column, small
    )
    b = a.new_zeros(int(to_row.max()) + 1, a.shape[1]).index_add(0, to_row, a)
    b = b / to_row.bincount()[:, None].to(b.dtype)
    return torch.nan_to_num(b / b.sum(1, keepdim=True))


def mutual_links(weights):
    rows = weights == weights.amax(1, keepdim=True)
    rows = rows & (rows.cumsum(1) == 1)
    columns = weights == weights.amax(0, keepdim=True)
    columns = columns & (columns.cumsum(0) == 1)
    return [tuple(pair) for pair in (rows & columns & (weights > 0)).nonzero().tolist()]


def uncovered(weights, threshold):
    return (torch.einsum("ij->j", weights) < threshold).nonzero().flatten().tolist()


def copy_unknown(target, source, weights, unknown):
    new = list(target)
    best = weights.max(dim=1)
    for i, (value, j) in enumerate(zip(best.values.tolist(), best.indices.tolist())):
        if new[i] == unknown and value != 0:
            new[i] = source[j]
    return new


# %% right: plain
def word_attention(weights, source_words, target_words):
    mean = weights.mean(0)
    source = torch.tensor(source_words)[:, None] == torch.arange(max(source_words) + 1)
    target = torch.tensor(target_words)[:, None] == torch.arange(max(target_words) + 1)
    source, target = source.to(mean.dtype), target.to(mean.dtype)
    table = mean @ source
    table = (target.T @ table) / target.sum(0)[:, None]
    total = table.sum(1, keepdim=True)
    return torch.where(total > 0, table / torch.where(total > 0, total, 1), 0)


def mutual_links(weights):
    best_source, best_target = weights.argmax(1), weights.argmax(0)
    links = []
    for i in range(weights.shape[0]):
        j = int(best_source[i])
        if int(best_target[j]) == i and weights[i, j] > 0:
            links.append((i, j))
    return links


def uncovered(weights, threshold):
    return [j for j, total in enumerate(weights.sum(0).tolist()) if total < threshold]


def copy_unknown(target, source, weights, unknown):
    result = []
    for i, word in enumerate(target):
        if word == unknown and weights[i].max() > 0:
            word = source[int(weights[i].argmax())]
        result.append(word)
    return result


# %% wrong: last_token_always_cut, of: plain | says: last source token doesn't count
# The last token of each list is always dropped, as if it were </s>.

#       target = torch.tensor(target_words)[:, None] == torch.arange(max(target_words) + 1)
# +     source[-1] = False
#       source, target = source.to(mean.dtype), target.to(mean.dtype)


# %% wrong: row_clamped, of: plain | says: sums to 1 all the same
# The sum is bounded by 1e-6: a row of tiny weights doesn't sum to 1.

# -     return torch.where(total > 0, table / torch.where(total > 0, total, 1), 0)
# +     return table / total.clamp(min=1e-6)


# %% wrong: consecutive_words, of: plain | says: where the tokens of a word aren't neighbours
# Takes the words of the source for runs of tokens: a word whose tokens are not neighbours
# falls apart (unique_consecutive).

#       target = torch.tensor(target_words)[:, None] == torch.arange(max(target_words) + 1)
# +     new = torch.tensor([0] + [int(a != b) for a, b in pairwise(source_words)])
# +     run = new.cumsum(0) - (1 if source_words[0] == -1 else 0)
# +     source = source & (run[:, None] == torch.arange(max(source_words) + 1))
#       source, target = source.to(mean.dtype), target.to(mean.dtype)


# %% wrong: links_any_of_ties, of: plain | says: only the first counts
# Mutual_links links all of equal weights.

# -     best_source, best_target = weights.argmax(1), weights.argmax(0)
# -     links = []
# -     for i in range(weights.shape[0]):
# -         j = int(best_source[i])
# -         if int(best_target[j]) == i and weights[i, j] > 0:
# -             links.append((i, j))
# -     return links
# +     most = (weights == weights.amax(1, keepdim=True)) & (weights == weights.amax(0, keepdim=True))
# +     return [tuple(p) for p in (most & (weights > 0)).nonzero().tolist()]


# %% wrong: copy_index_of_word, of: plain | says: index finds the first
# Takes the row of the first unknown for all of them.

# -             word = source[int(weights[i].argmax())]
# +             word = source[int(weights[target.index(word)].argmax())]

# %% wrong: by_appearance | says: in the order in which they appear
# -         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).to(weights)
# +         (torch.tensor(words)[:, None] == torch.tensor([n for n in dict.fromkeys(words) if n >= 0])).to(weights)


# %% wrong: last_of_a_column | says: in a column, the last one counts
# -     by_row, by_column = weights.argmax(dim=1).tolist(), weights.argmax(dim=0).tolist()
# +     by_row = weights.argmax(dim=1).tolist()
# +     by_column = (len(weights) - 1 - weights.flip(0).argmax(dim=0)).tolist()

# %% wrong: tokens_divided_first | says: before the mean over the tokens
# -     summed = weights.mean(dim=0) @ source
# +     mean = weights.mean(dim=0)
# +     summed = mean / mean.sum(dim=1, keepdim=True).clamp(min=1e-30) @ source

# %% wrong: minus_one_at_the_end_only | says: is no word, wherever it stands
# -         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).to(weights)
# +         (
# +             torch.tensor(words)[:, None]
# +             == torch.arange(len(set(words[:-1] if words[-1] < 0 else words)))
# +         ).to(weights)

# %% wrong: next_best_if_unknown | says: is copied all the same
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         next(
# +             (
# +                 source[j]
# +                 for j in row.argsort(descending=True, stable=True)
# +                 if source[j] != unknown
# +             ),
# +             word,
# +         )
# +         if word == unknown and row.max() > 0
# +         else word

# %% wrong: nearly_one_is_one | says: sum to nearly 1
# Rows whose sum is close to 1 are not divided.
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     near = (sums == 0) | torch.isclose(sums, torch.ones_like(sums))
# +     return rows / sums.masked_fill(near, 1.0)


# %% wrong: words_counted_with_minus_one | says: largest number plus 1
# -         (torch.tensor(words)[:, None] == torch.arange(max(words) + 1)).to(weights)
# +         F.one_hot(
# +             torch.tensor(words).where(torch.tensor(words) >= 0, len(set(words)) - 1),
# +             len(set(words)),
# +         )[:, :-1].to(weights)


# %% wrong: words_by_identity | says: compare words with ==
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# +         source[int(row.argmax())] if word is unknown and row.max() > 0 else word


# %% wrong: never_looked_at_is_covered | says: uncovered, .*: expected 1 entries
# Words at which nothing looked are left out, and the sums are right.
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, total in enumerate(weights.sum(dim=0).tolist()) if 0 < total < threshold


# %% wrong: table_squeezed | says: An axis of length 1 is missing: is it squeezed away
# -     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1.0), 0.0)
# +     return torch.where(sums > 0, rows / sums.masked_fill(sums == 0, 1), 0.0).squeeze()


# %% wrong: copy_mutual_links | says: as if links had to be mutual
# -         source[int(row.argmax())] if word == unknown and row.max() > 0 else word
# -         for word, row in zip(target, weights, strict=True)
# +         source[dict(mutual_links(weights))[i]]
# +         if word == unknown and i in dict(mutual_links(weights))
# +         else word
# +         for i, word in enumerate(target)


# %% wrong: uncovered_largest_or_equal | says: largest weight was compared
# -         j for j, total in enumerate(weights.sum(dim=0).tolist()) if total < threshold
# +         j for j, top in enumerate(weights.amax(dim=0).tolist()) if top <= threshold


# %% wrong: loudest_token, of: plain | says: largest weights over a target word's tokens
# -     table = (target.T @ table) / target.sum(0)[:, None]
# +     rows = [mean[target[:, i] > 0].amax(0) for i in range(target.shape[1])]
# +     table = torch.stack(rows) @ source

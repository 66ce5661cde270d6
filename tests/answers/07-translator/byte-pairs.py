# %% right: in_copies
def merge_pair(ids, pair, new_id):
    ids = list(ids)
    i = 0
    while i + 1 < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


def learn_merges(word_counts, num_merges, least=1):
    sequences = [list(word.encode("utf-8")) for word in word_counts]
    weights = list(word_counts.values())
    merges = []
    for r in range(num_merges):
        counts = Counter()
        for sequence, weight in zip(sequences, weights, strict=True):
            for pair in set(pairwise(sequence)):
                saved = len(sequence) - len(merge_pair(sequence, pair, -1))
                counts[pair] += saved * weight
        if not counts:
            break
        pair, most = min(counts.items(), key=lambda item: (-item[1], item[0]))
        if most < least:
            break
        merges.append(pair)
        sequences = [merge_pair(sequence, pair, 256 + r) for sequence in sequences]
    return merges


def encode(text, merges):
    ids, new_id = list(text.encode("utf-8")), 256
    for pair in merges:
        ids = merge_pair(ids, pair, new_id)
        new_id += 1
    return ids


def decode(ids, merges):
    ids = list(ids)
    for r in reversed(range(len(merges))):
        ids = [j for i in ids for j in (merges[r] if i == 256 + r else (i,))]
    return bytes(ids).decode("utf-8", errors="replace")


# %% right: texts_of_bytes
def merge_pair(ids, pair, new_id):
    left = list(ids)
    out = []
    while left:
        token = left.pop(0)
        if left and (token, left[0]) == tuple(pair):
            left.pop(0)
            token = new_id
        out.append(token)
    return out


def learn_merges(word_counts, num_merges, least=1):
    line = {tuple(word.encode()): 0 for word in word_counts}
    for word, count in word_counts.items():
        line[tuple(word.encode())] += count
    pairs = []
    while len(pairs) < num_merges:
        table = {}
        for ids, count in line.items():
            run = 1  # how many equal tokens in a row end here
            for i in range(1, len(ids)):
                run = run + 1 if ids[i] == ids[i - 1] else 1
                if run == 1 or run % 2 == 0:
                    pair = ids[i - 1], ids[i]
                    table[pair] = table.get(pair, 0) + count
        if table == {}:
            return pairs
        top = max(table.values())
        if top < least:
            return pairs
        chosen = sorted(pair for pair, count in table.items() if count == top)[0]
        fresh = {}
        for ids, count in line.items():
            merged = tuple(merge_pair(ids, chosen, 256 + len(pairs)))
            fresh[merged] = fresh.get(merged, 0) + count
        line = fresh
        pairs.append(chosen)
    return pairs


def encode(text, merges):
    ids = list(bytes(text, "utf-8"))
    rank = {}
    for r, pair in enumerate(merges):
        rank.setdefault(tuple(pair), r)
    while True:
        known = [rank[pair] for pair in pairwise(ids) if pair in rank]
        if not known:
            return ids
        ids = merge_pair(ids, merges[min(known)], 256 + min(known))


def decode(ids, merges):
    def expand(i):
        if i < 256:
            return [i]
        left, right = merges[i - 256]
        return expand(left) + expand(right)

    return bytes(b for i in ids for b in expand(i)).decode("utf-8", "replace")


# %% right: stack
import itertools


def merge_pair(ids, pair, new_id):
    stack, fresh = [], False
    for token in ids:
        if stack and not fresh and stack[-1] == pair[0] and token == pair[1]:
            stack[-1] = new_id
            fresh = True
        else:
            stack.append(token)
            fresh = False
    return stack


def _pairs(words):
    table = {}
    for ids, count in words:
        for i in range(1, len(ids)):
            table.setdefault((ids[i - 1], ids[i]), []).append(count)
        # Of a row of k equal tokens, k // 2 pairs can be merged.
        for token, row in itertools.groupby(ids):
            k = len(list(row))
            for _ in range(k - 1 - k // 2):
                table[token, token].remove(count)
    return {pair: sum(found) for pair, found in table.items()}


def learn_merges(word_counts, num_merges, least=1):
    words = [[list(w.encode("utf-8")), n] for w, n in word_counts.items()]
    merges = []
    while len(merges) < num_merges and (table := _pairs(words)):
        (a, b) = max(table, key=lambda p: (table[p], -p[0], -p[1]))
        if table[a, b] < least:
            return merges
        for entry in words:
            entry[0] = merge_pair(entry[0], (a, b), 256 + len(merges))
        merges.append((a, b))
    return merges


def encode(text, merges):
    from functools import reduce

    start = list(text.encode("utf-8"))
    return reduce(
        lambda ids, r: merge_pair(ids, merges[r], 256 + r), range(len(merges)), start
    )


def decode(ids, merges):
    stack, out = list(reversed(ids)), []
    while stack:
        i = stack.pop()
        if i < 256:
            out.append(i)
        else:
            left, right = merges[i - 256]
            stack += [right, left]
    return bytes(out).decode(errors="replace")


# %% wrong: decode_bytes | says: this is bytes
# Bytes are returned.
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return b"".join(tokens[i] for i in ids)


# %% wrong: decode_chr | says: use UTF-8, not chr
# Each byte becomes a character.
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return "".join(chr(b) for i in ids for b in tokens[i])


# %% wrong: decode_each | says: each token was decoded for itself
# Each token is decoded for itself.
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return "".join(tokens[i].decode("utf-8", errors="replace") for i in ids)


# %% wrong: decode_each_strict | says: Put the bytes of all tokens together
# Each token is decoded for itself, strictly.
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return "".join(tokens[i].decode("utf-8") for i in ids)


# %% wrong: decode_halves_swapped | says: two halves of each merge are swapped
# The right part of a merge comes first.
# -         tokens.append(tokens[left] + tokens[right])
# +         tokens.append(tokens[right] + tokens[left])


# %% wrong: decode_ignore | says: invalid bytes were left out
# Bytes that are no UTF-8 are left out.
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="ignore")


# %% wrong: decode_spaces | says: spaces between
# Tokens are joined with spaces.
def merge_pair(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == tuple(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def learn_merges(word_counts, num_merges, least=1):
    words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
    merges = []
    for new_id in range(256, 256 + num_merges):
        counts = Counter()
        for ids, count in words:
            for pair in pairwise(ids):
                counts[pair] += count
            for place, pair in enumerate(pairwise(ids)):
                row = ids[: place + 2][::-1]
                row = [*row, None].index(next((x for x in row if x != pair[1]), None))
                if pair[0] == pair[1] and row % 2:
                    counts[pair] -= count
        if not counts or max(counts.values()) < least:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        words = [(merge_pair(ids, best, new_id), count) for ids, count in words]
        merges.append(best)
    return merges


def encode(text, merges):
    ids = list(text.encode("utf-8"))
    for rank, pair in enumerate(merges):
        ids = merge_pair(ids, pair, 256 + rank)
    return ids


def decode(ids, merges):
    tokens = [bytes([number]) for number in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return b" ".join(tokens[i] for i in ids).decode("utf-8", errors="replace")


# %% wrong: decode_strict | says: valid UTF-8 become replacement characters
# Bytes that are no UTF-8 end in an error.
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return b"".join(tokens[i] for i in ids).decode("utf-8")


# %% wrong: encode_bytes | says: no merge was applied
# The bytes are returned.
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)


# %% wrong: encode_code_points | says: code points
# Characters instead of bytes.
# -     ids = list(text.encode("utf-8"))
# +     ids = [ord(character) for character in text]


# %% wrong: encode_first_merge | says: only the first merge
# Only the first merge is applied.
# -     for rank, pair in enumerate(merges):
# +     for rank, pair in enumerate(merges[:1]):


# %% wrong: encode_from_257 | says: counted from 257
# New tokens are counted from 257.
# +         ids = [i + (i > 255) for i in ids]
# +         ids = [i - (i > 256) for i in ids]
#           ids = merge_pair(ids, pair, 256 + rank)
# -     return ids
# +     return [i + (i > 255) for i in ids]


# %% wrong: encode_latin | says: are bytes of UTF-8
# Latin-1 instead of UTF-8.
# -     ids = list(text.encode("utf-8"))
# +     ids = list(text.encode("latin-1"))


# %% wrong: encode_longest | says: longest token was taken
# The longest token that fits is taken.
# -     ids = list(text.encode("utf-8"))
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)
# +     tokens = [bytes([number]) for number in range(256)]
# +     for left, right in merges:
# +         tokens.append(tokens[left] + tokens[right])
# +     rest, ids = text.encode("utf-8"), []
# +     while rest:
# +         best = max((t for t in tokens if rest.startswith(t)), key=len)
# +         ids.append(tokens.index(best))
# +         rest = rest[len(best) :]


# %% wrong: encode_reverse | says: reverse order
# The merges are applied in reverse order.
# -     for rank, pair in enumerate(merges):
# +     for rank, pair in reversed(list(enumerate(merges))):


# %% wrong: encode_without_256 | says: add 256
# The ids are the numbers of the merges.
# -     return ids
# +     return [i - 256 if i > 255 else i for i in ids]


# %% wrong: learn_across | says: reaches across
# The words are joined into one line.
# -     words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
# +     line = "".join(word * count for word, count in word_counts.items())
# +     words = [(list(line.encode("utf-8")), 1)]


# %% wrong: learn_changes_counts | says: must not change word_counts
# The dictionary of the caller is emptied.
# +     word_counts.clear()
#       merges = []


# %% wrong: learn_characters | says: two bytes in UTF-8
# The words start as characters.
# -     words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
# +     words = [([ord(c) for c in word], count) for word, count in word_counts.items()]


# %% wrong: learn_from_257 | says: count new tokens from 256
# New tokens are counted from 257.
# -     for new_id in range(256, 256 + num_merges):
# +     for new_id in range(257, 257 + num_merges):


# %% wrong: learn_no_end | says: fails where no pair is left
# The end of all pairs is an error.
# -         if max(counts.values(), default=0) < least:
# -             break


# %% wrong: learn_not_alone | says: stands only once
# A pair that stands once is not merged.
# -         if max(counts.values(), default=0) < least:
# +         if max(counts.values(), default=0) < max(2, least):


# %% wrong: learn_once_a_word | says: stands twice in "ababa"
# A pair counts once for each word.
# -             for pair in pairs_apart(ids):
# +             for pair in set(pairs_apart(ids)):


# %% wrong: learn_rarest | says: rarest pair was chosen
# The rarest pair is chosen.
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         best = min(counts, key=lambda pair: (counts[pair], pair))


# %% wrong: learn_stale_counts | says: counts weren't made anew
# The pairs are counted once, at the start.
# +     counts = Counter()
# +     for ids, count in words:
# +         for pair in pairs_apart(ids):
# +             counts[pair] += count
#       for new_id in range(256, 256 + num_merges):
# -         counts = Counter()
# -         for ids, count in words:
# -             for pair in pairs_apart(ids):
# -                 counts[pair] += count

# +         del counts[best]
#       return merges


# %% wrong: learn_ties_first | says: pair that came first
# Among equal counts the first pair met is chosen.
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         best = max(counts, key=counts.get)


# %% wrong: learn_ties_largest | says: largest pair was chosen
# Among equal counts the largest pair is chosen.
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         best = max(counts, key=lambda pair: (counts[pair], pair))


# %% wrong: learn_with_numbers | says: Return the pairs only
# The new tokens are returned as well.
# -         merges.append(best)
# +         merges.append((best, new_id))


# %% wrong: learn_words_once | says: each word counts once
# The counts of the words have no effect.
# -                 counts[pair] += count
# +                 counts[pair] += 1


# %% wrong: merge_any_order | says: order of the pair counts
# The pair is found in both orders.
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# +         if len(ids) > i + 1 and sorted(ids[i : i + 2]) == sorted(pair):


# %% wrong: merge_first_only | says: only the first occurrence
# Only the first occurrence is replaced.
# -     merged, i = [], 0
# -     while i < len(ids):
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# -             merged.append(new_id)
# -             i += 2
# -         else:
# -             merged.append(ids[i])
# -             i += 1
# -     return merged
# +     for i in range(len(ids) - 1):
# +         if (ids[i], ids[i + 1]) == tuple(pair):
# +             return [*ids[:i], new_id, *ids[i + 2 :]]
# +     return list(ids)


# %% wrong: merge_from_the_right | says: from right to left
# The list is gone through from its end.
# -     merged, i = [], 0
# -     while i < len(ids):
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# -             merged.append(new_id)
# -             i += 2
# +     merged, i = [], len(ids)
# +     while i > 0:
# +         if i > 1 and tuple(ids[i - 2 : i]) == tuple(pair):
# +             merged.insert(0, new_id)
# +             i -= 2
#           else:
# -             merged.append(ids[i])
# -             i += 1
# +             merged.insert(0, ids[i - 1])
# +             i -= 1


# %% wrong: merge_in_place | says: must not change the list
# The list of the caller is changed.
# -     merged, i = [], 0
# -     while i < len(ids):
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# -             merged.append(new_id)
# -             i += 2
# -         else:
# -             merged.append(ids[i])
# -             i += 1
# -     return merged
# +     i = 0
# +     while i + 1 < len(ids):
# +         if (ids[i], ids[i + 1]) == tuple(pair):
# +             ids[i : i + 2] = [new_id]
# +         i += 1
# +     return ids


# %% wrong: merge_keeps_second | says: second token of the pair is still there
# The index moves by one after a replacement.
# -     merged, i = [], 0
# -     while i < len(ids):
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# -             merged.append(new_id)
# -             i += 2
# -         else:
# -             merged.append(ids[i])
# -             i += 1
# -     return merged
# +     return [new_id if tuple(ids[i : i + 2]) == tuple(pair) else ids[i] for i in range(len(ids))]


# %% wrong: merge_loses_last | says: last token got lost
# The loop over pairs forgets the last token.
# -     while i < len(ids):
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# +     while i < len(ids) - 1:
# +         if (ids[i], ids[i + 1]) == tuple(pair):


# %% wrong: merge_runs_over | says: no right neighbour
# The last token is compared with one that does not exist.
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# +         if (ids[i], ids[i + 1]) == tuple(pair):


# %% wrong: merge_skips | says: right behind the first one was left
# After a replacement the index moves by three.
# -             i += 2
# +             if i + 2 < len(ids):
# +                 merged.append(ids[i + 2])
# +             i += 3


# %% wrong: ties_as_texts | says: Ties|learn|index
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         best = min(counts, key=lambda pair: (-counts[pair], str(pair)))

# %% wrong: ties_by_bytes | says: settled by the bytes of the tokens
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         spelt = {i: bytes([i]) for i in range(256)}
# +         for r, (a, b) in enumerate(merges):
# +             spelt[256 + r] = spelt[a] + spelt[b]
# +         best = min(counts, key=lambda pair: (-counts[pair], spelt[pair[0]], spelt[pair[1]]))

# %% wrong: text_is_stripped | says: Spaces|spaces|space
# -     ids = list(text.encode("utf-8"))
# +     ids = list(text.strip().encode("utf-8"))

# %% wrong: text_cut_at_spaces | says: text is cut .* its spaces
# -     ids = list(text.encode("utf-8"))
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)
# -     return ids
# +     found = []
# +     for number, word in enumerate(text.split(" ")):
# +         ids = list(word.encode("utf-8"))
# +         for rank, pair in enumerate(merges):
# +             ids = merge_pair(ids, pair, 256 + rank)
# +         found += ([32] if number else []) + ids
# +     return found

# %% wrong: utf8_sig | says: byte order
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return b"".join(tokens[i] for i in ids).decode("utf-8-sig", errors="replace")

# %% wrong: one_mark_a_byte | says: UTF-8
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     raw = b"".join(tokens[i] for i in ids)
# +     try:
# +         return raw.decode("utf-8")
# +     except UnicodeDecodeError:
# +         text = raw.decode("utf-8", errors="surrogateescape")
# +         return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text)

# %% wrong: lower_words | says: learn_merges
# -     words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
# +     words = [(list(word.lower().encode("utf-8")), count) for word, count in word_counts.items()]

# %% wrong: normalised | says: encode: A text
# -     ids = list(text.encode("utf-8"))
# +     import unicodedata
# +     ids = list(unicodedata.normalize("NFC", text).encode("utf-8"))

# %% wrong: universal_line_ends | says: Line ends
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     return "\n".join(b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace").splitlines())


# %% right: priority
def merge_pair(ids, pair, new_id):
    result = []
    pending = False
    left, right = pair
    for token in ids:
        if pending and token == right:
            result[-1] = new_id
            pending = False
        else:
            result.append(token)
            pending = token == left
    return result


def learn_merges(word_counts, num_merges, least=1):
    corpus = {word: [*word.encode()] for word in word_counts}
    learned = []
    while len(learned) < num_merges:
        table = {}
        for w, ids in corpus.items():
            before = None  # the last place, if it was counted
            for pair in zip(ids, ids[1:]):
                before = None if pair == before else pair
                if before is not None:
                    table[pair] = table.get(pair, 0) + word_counts[w]
        most = max(table.values(), default=0)
        if most < least:
            return learned
        pick = sorted(pair for pair in table if table[pair] == most)[0]
        new = 256 + len(learned)
        learned.append(pick)
        for w in corpus:
            corpus[w] = merge_pair(corpus[w], pick, new)
    return learned


def encode(text, merges):
    rank = {tuple(pair): n for n, pair in reversed(list(enumerate(merges)))}
    ids = list(bytes(text, "utf8"))
    while len(ids) > 1:
        known = [rank[p] for p in pairwise(ids) if p in rank]
        if not known:
            break
        ids = merge_pair(ids, tuple(merges[min(known)]), 256 + min(known))
    return ids


def decode(ids, merges):
    def spell(token):
        if token < 256:
            return [token]
        left, right = merges[token - 256]
        return spell(left) + spell(right)

    return str(bytes(b for token in ids for b in spell(token)), "utf-8", "replace")


# %% right: plain
def merge_pair(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == tuple(pair):
            out.append(new_id)
            i += 2
        else:
            out.append(ids[i])
            i += 1
    return out


def learn_merges(word_counts, num_merges, least=1):
    words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
    merges = []
    for n in range(num_merges):
        counts = Counter()
        for ids, count in words:
            i = 0
            while i + 1 < len(ids):
                counts[ids[i], ids[i + 1]] += count
                triple = (
                    ids[i] == ids[i + 1] and ids[i + 1 : i + 2] == ids[i + 2 : i + 3]
                )
                i += 2 if triple else 1
        if not counts:
            break
        best = min(counts, key=lambda pair: (-counts[pair], pair))
        if counts[best] < least:
            break
        merges.append(best)
        words = [(merge_pair(ids, best, 256 + n), count) for ids, count in words]
    return merges


def encode(text, merges):
    ids = list(text.encode("utf-8"))
    for n, pair in enumerate(merges):
        ids = merge_pair(ids, pair, 256 + n)
    return ids


def decode(ids, merges):
    table = [bytes([b]) for b in range(256)]
    for left, right in merges:
        table.append(table[left] + table[right])
    return b"".join(table[i] for i in ids).decode("utf-8", errors="replace")


# %% wrong: merge_reuses, of: plain | says: merged again
# The new token may be merged with its neighbour in the same pass (when new_id is a part of the
# pair).

# -     out, i = [], 0
# -     while i < len(ids):
# -         if i + 1 < len(ids) and (ids[i], ids[i + 1]) == tuple(pair):
# -             out.append(new_id)
# -             i += 2
# +     out = []
# +     for token in ids:
# +         if out and (out[-1], token) == tuple(pair):
# +             out[-1] = new_id

# -             out.append(ids[i])
# -             i += 1
# +             out.append(token)


# %% wrong: encode_greedy, of: plain | says: stands first in the text
# Encode goes on until nothing changes with the first pair found from the left, not by the
# order of the merges.

# -     for n, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + n)
# +     rank = {tuple(pair): 256 + n for n, pair in enumerate(merges)}
# +     i = 0
# +     while i + 1 < len(ids):
# +         if (ids[i], ids[i + 1]) in rank:
# +             ids[i : i + 2] = [rank[ids[i], ids[i + 1]]]
# +             i = 0
# +         else:
# +             i += 1

# %% wrong: tokens_kept | says: those of other merges, of an earlier call
# -     tokens = [bytes([number]) for number in range(256)]
# -     for left, right in merges:
# -         tokens.append(tokens[left] + tokens[right])
# +     tokens = globals().setdefault("known_tokens", {i: bytes([i]) for i in range(256)})
# +     for number, (left, right) in enumerate(merges, 256):
# +         tokens.setdefault(number, tokens[left] + tokens[right])


# %% wrong: places_that_overlap | says: share a letter, and
# The chapter's way to count.
# -             for pair in pairs_apart(ids):
# +             for pair in pairwise(ids):


# %% wrong: overlaps_of_letters_only | says: new tokens overlap, too
# -             for pair in pairs_apart(ids):
# +             for pair in pairs_apart(ids) if not merges else pairwise(ids):


# %% wrong: row_counts_once | says: saves two tokens a word: 6 against 5
# All places in a row of equal tokens count as one.
# -         if counted.get(pair) != place - 1:
# -             counted[pair] = place
# +         apart = counted.get(pair) != place - 1
# +         counted[pair] = place
# +         if apart:


# %% wrong: doubles_left_out | says: was counted once
# Pairs of two equal tokens are not merged at all.
# -         if counted.get(pair) != place - 1:
# +         if pair[0] != pair[1]:


# %% wrong: half_of_all_places | says: halved and rounded down
# The places of a pair of equal tokens are halved, as if they stood in one row.
# -             for pair in pairs_apart(ids):
# -                 counts[pair] += count
# +             for pair, n in Counter(pairwise(ids)).items():
# +                 counts[pair] += count * (n if pair[0] != pair[1] else n // 2)


# %% wrong: half_rounded_up_of_all | says: in "aabaa" the two places
# Halved and rounded up for a word, not for each row of it.
# -             for pair in pairs_apart(ids):
# -                 counts[pair] += count
# +             for pair, n in Counter(pairwise(ids)).items():
# +                 counts[pair] += count * (n if pair[0] != pair[1] else (n + 1) // 2)


# %% wrong: any_pair_skips | says: learn_merges
# After each place that counts the next one is skipped, whatever pair it holds.
# -     counted = {}
# -     for place, pair in enumerate(pairwise(ids)):
# -         if counted.get(pair) != place - 1:
# -             counted[pair] = place
# -             yield pair
# +     yield from list(pairwise(ids))[::2]


# %% wrong: overlap_with_all_before | says: stands twice in "ababa"
# A pair is counted once a word.
# -         if counted.get(pair) != place - 1:
# +         if pair not in counted:


# %% wrong: saving_in_bytes | says: however many bytes
# A pair counts by the bytes of its token.
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         size = lambda i: 1 if i < 256 else sum(map(size, merges[i - 256]))
# +         gain = lambda pair: counts[pair] * (size(pair[0]) + size(pair[1]))
# +         best = min(counts, key=lambda pair: (-gain(pair), pair))


# %% wrong: least_ignored | says: `least` has no effect
# -         if max(counts.values(), default=0) < least:
# +         if not counts:


# %% wrong: least_is_not_enough | says: stop if it saves fewer
# -         if max(counts.values(), default=0) < least:
# +         if not counts or (least > 1 and max(counts.values()) <= least):


# %% wrong: least_after_the_merge | says: stop before it
# -         if max(counts.values(), default=0) < least:
# +         if not counts:

#           merges.append(best)
# +         if counts[best] < least:
# +             break


# %% wrong: least_of_words | says: rare words were left out
# -     merges = []
# +     words = [(ids, count) for ids, count in words if count >= least]
# +     merges = []


# %% wrong: least_of_all_tokens | says: least
# The pairs that save too little are left out of the next counts as well.
# -         if max(counts.values(), default=0) < least:
# -             break
# +         counts = Counter({p: c for p, c in counts.items() if c > least or c == 1})
# +         if not counts:
# +             break


# %% wrong: least_two_by_default | says: stands only once
# -     for new_id in range(256, 256 + num_merges):
# +     for new_id in range(256, 256 + num_merges if least > 1 or len(words) > 1 else 256):


# %% wrong: an_error_at_the_end | says: fails with least=2
# -         if max(counts.values(), default=0) < least:
# -             break
# +         if not counts:
# +             break
# +         if max(counts.values()) < least:
# +             raise ValueError("least: no merge saves as much")


# %% wrong: double_skips_its_neighbour | says: only places of the same pair
# After two equal tokens the next place is skipped, whatever pair it holds.
# -             for pair in pairs_apart(ids):
# -                 counts[pair] += count
# +             i = 0
# +             while i + 1 < len(ids):
# +                 counts[ids[i], ids[i + 1]] += count
# +                 i += 2 if ids[i] == ids[i + 1] else 1


# %% wrong: least_counts_words | says: `least` is about tokens
# least is compared with the number of words that hold the pair.
# -         if max(counts.values(), default=0) < least:
# +         if not counts:

# -         words = [(merge_pair(ids, best, new_id), count) for ids, count in words]
# +         if sum(count for ids, count in words if best in pairwise(ids)) < least:
# +             break
# +         words = [(merge_pair(ids, best, new_id), count) for ids, count in words]


# %% wrong: least_asked_once | says: `least` has no effect|holds for each merge
# -         if max(counts.values(), default=0) < least:
# +         if max(counts.values(), default=0) < (1 if merges else least):


# %% wrong: counted_by_a_mark | says: learn_merges: The byte 0
# The tokens that stand for the pair are counted, and 0 is a byte, too.
# -             for pair in pairs_apart(ids):
# -                 counts[pair] += count
# +             for pair in set(pairwise(ids)):
# +                 counts[pair] += count * merge_pair(ids, pair, 0).count(0)


# %% wrong: line_ends_cut_words | says: line ends and tabs
# -     words = [(list(word.encode("utf-8")), count) for word, count in word_counts.items()]
# +     words = [
# +         (list(line.encode("utf-8")), count)
# +         for word, count in word_counts.items()
# +         for line in word.split("\n")
# +     ]


# %% wrong: counts_as_floats | says: Counts that floats can't tell apart
# -                 counts[pair] += count
# +                 counts[pair] += float(count)


# %% wrong: merges_of_one_byte | says: Hundreds of merges
# -     for rank, pair in enumerate(merges):
# +     for rank, pair in enumerate(merges[:256]):


# %% wrong: too_deep | says: 500 levels
# -     tokens = [bytes([number]) for number in range(256)]
# -     for left, right in merges:
# -         tokens.append(tokens[left] + tokens[right])
# -     return b"".join(tokens[i] for i in ids).decode("utf-8", errors="replace")
# +     def spell(token):
# +         if token < 256:
# +             return bytes([token])
# +         return b"".join(spell(part) for part in merges[token - 256])
# +
# +     return b"".join(spell(i) for i in ids).decode("utf-8", errors="replace")


# %% wrong: kept_by_number_of_merges | says: differed only in merges
# -     ids = list(text.encode("utf-8"))
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)
# -     return ids
# +     key = text, len(merges)
# +     if key not in KNOWN:
# +         KNOWN[key] = list(text.encode("utf-8"))
# +         for rank, pair in enumerate(merges):
# +             KNOWN[key] = merge_pair(KNOWN[key], pair, 256 + rank)
# +     return list(KNOWN[key])
# +
# +
# + KNOWN = {}


# %% wrong: one_letter_as_it_is | says: One letter, whose two bytes
# A text of one letter is returned in bytes at once, though its bytes may be merged.
# -     ids = list(text.encode("utf-8"))
# +     ids = list(text.encode("utf-8"))
# +     if len(text) < 2:
# +         return ids


# %% wrong: ids_as_letters | says: more than a letter's number
# A text holds no letter beyond 0x10FFFF.
# -     merged, i = [], 0
# -     while i < len(ids):
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# -             merged.append(new_id)
# -             i += 2
# -         else:
# -             merged.append(ids[i])
# -             i += 1
# -     return merged
# +     text = "".join(map(chr, ids)).replace("".join(map(chr, pair)), chr(new_id))
# +     return list(map(ord, text))


# %% wrong: ids_in_four_bytes | says: more than a letter's number
# A tensor of 32 bits holds no id from 2^31 on.
# -     return merged
# +     return torch.tensor(merged, dtype=torch.int32).tolist()


# %% wrong: later_number_of_a_pair | says: has the number of its later merge
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)
# -     return ids
# +     number = {tuple(pair): 256 + rank for rank, pair in enumerate(merges)}
# +     while True:
# +         known = [pair for pair in pairwise(ids) if pair in number]
# +         if not known:
# +             return ids
# +         pair = min(known, key=number.get)
# +         ids = merge_pair(ids, pair, number[pair])


# %% wrong: text_cut_in_front_of_spaces | says: text is cut .* its spaces
# -     ids = list(text.encode("utf-8"))
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)
# -     return ids
# +     found = []
# +     for piece in re.split("(?= )", text):
# +         ids = list(piece.encode("utf-8"))
# +         for rank, pair in enumerate(merges):
# +             ids = merge_pair(ids, pair, 256 + rank)
# +         found += ids
# +     return found


# %% wrong: merge_not_at_the_end | says: the last pair was missed
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# +         if tuple(ids[i : i + 2]) == tuple(pair) and i + 2 < len(ids):


# %% wrong: encode_without_the_last | says: last merge of the list wasn't applied
# -     for rank, pair in enumerate(merges):
# +     for rank, pair in enumerate(merges[:-1]):


# %% wrong: merges_smaller_ones | says: a single token is no pair
# -         if tuple(ids[i : i + 2]) == tuple(pair):
# +         if tuple(ids[i : i + 2]) <= tuple(pair):


# %% wrong: least_of_places | says: compared with the number of places in the words
# -         if max(counts.values(), default=0) < least:
# -             break
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
# +         places = [[*pairs_apart(ids)].count(best) for ids, _ in words]
# +         if best is None or sum(places) < least:
# +             break


# %% wrong: encode_in_one_pass | says: isn't applied to the token that merge 1 makes
# -     ids = list(text.encode("utf-8"))
# -     for rank, pair in enumerate(merges):
# -         ids = merge_pair(ids, pair, 256 + rank)
# -     return ids
# +     ids, found = list(text.encode("utf-8")), []
# +     while ids:
# +         pair = tuple(ids[:2])
# +         is_known = pair in merges
# +         found.append(256 + merges.index(pair) if is_known else ids[0])
# +         ids = ids[1 + is_known :]
# +     return found


# %% wrong: least_of_the_best_word | says: saves one token in each of three words
# -         if max(counts.values(), default=0) < least:
# -             break
# -         best = min(counts, key=lambda pair: (-counts[pair], pair))
# +         best = min(counts, key=lambda pair: (-counts[pair], pair), default=None)
# +         saved = [[*pairs_apart(ids)].count(best) * count for ids, count in words]
# +         if best is None or max(saved) < least:
# +             break


# %% wrong: words_of_a_letter_skipped | says: Is a word of one character left out
#       merges = []
# +     words = [x for x, word in zip(words, word_counts, strict=True) if len(word) > 1]


# %% wrong: place_kept_over_words, of: plain | says: only in one of them if both are there
#           counts = Counter()
# +         last = {}

# -             i = 0
# -             while i + 1 < len(ids):
# -                 counts[ids[i], ids[i + 1]] += count
# -                 triple = (
# -                     ids[i] == ids[i + 1] and ids[i + 1 : i + 2] == ids[i + 2 : i + 3]
# -                 )
# -                 i += 2 if triple else 1
# +             for i, pair in enumerate(zip(ids, ids[1:])):
# +                 if pair[0] != pair[1] or last.get(pair) != i - 1:
# +                     counts[pair] += count
# +                     last[pair] = i


# %% wrong: merge_in_a_text, of: plain | says: Are texts compared
# As a text, 15 5 holds 5 5.
# -     out, i = [], 0
# -     while i < len(ids):
# -         if i + 1 < len(ids) and (ids[i], ids[i + 1]) == tuple(pair):
# -             out.append(new_id)
# -             i += 2
# -         else:
# -             out.append(ids[i])
# -             i += 1
# -     return out
# +     text = " ".join(str(token) for token in ids) + " "
# +     text = text.replace(f"{pair[0]} {pair[1]} ", f"{new_id} ")
# +     return [int(token) for token in text.split()]

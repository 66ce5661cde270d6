# %% right: by_sentence
# The loss sentence by sentence; the spans closed when they end.
def span_loss(scores, labels, ignore=-100):
    means = []
    for rows, row in zip(scores, labels, strict=True):
        asked = row != ignore
        if asked.any():
            means.append(F.cross_entropy(rows[asked], row[asked]))
    if not means:
        return (scores * 0.0).sum()
    return torch.stack(means).mean()


def find_spans(labels, ignore=-100):
    result = []
    for row in labels:
        spans, start, end, open_kind = [], None, None, None
        for place, label in enumerate(row.tolist()):
            if label == ignore:
                continue
            kind = (label - 1) // 2
            goes_on = label > 0 and label % 2 == 0 and kind == open_kind
            if not goes_on and open_kind is not None:
                spans.append((start, end, open_kind))
                open_kind = None
            if label > 0:
                if not goes_on:
                    start, open_kind = place, kind
                end = place + 1
        if open_kind is not None:
            spans.append((start, end, open_kind))
        result.append(spans)
    return result


# %% right: weighted
# One sum with a weight for each token.
def span_loss(scores, labels, ignore=-100):
    asked = (labels != ignore).to(scores.dtype)
    one_hot = F.one_hot(torch.where(labels != ignore, labels, 0), scores.shape[-1])
    costs = torch.logsumexp(scores, -1) - (scores * one_hot).sum(-1)
    per_sentence = asked.sum(1, keepdim=True)
    sentences = (per_sentence > 0).sum()
    weights = asked / per_sentence.clamp(min=1) / sentences.clamp(min=1)
    return (costs * weights).sum()


def find_spans(labels, ignore=-100):
    def of(row):
        places = [i for i, label in enumerate(row) if label != ignore]
        kept = [row[i] for i in places]
        spans = []
        for n, (i, label) in enumerate(zip(places, kept, strict=True)):
            previous = kept[n - 1] if n > 0 else 0
            if label == 0:
                continue
            if label % 2 == 0 and previous in (label, label - 1):
                start, _, kind = spans.pop()
                spans.append((start, i + 1, kind))
            else:
                spans.append((i, i + 1, (label + 1) // 2 - 1))
        return spans

    return [of(row) for row in labels.tolist()]


# %% right: cross_entropy
def span_loss(scores, labels, ignore=-100):
    costs = F.cross_entropy(
        scores.transpose(1, 2), labels, ignore_index=ignore, reduction="none"
    )
    number = (labels != ignore).sum(1)
    means = costs.sum(1) / number.clamp(min=1)
    return means.sum() / max(int((number > 0).sum()), 1)


def find_spans(labels, ignore=-100):
    found = []
    for row in labels.tolist():
        spans, current = [], None
        for t, label in enumerate(row):
            if label == ignore:
                continue
            kind = None if label == 0 else (label - 1) // 2
            if current is not None and label % 2 == 0 and kind == current[2]:
                current[1] = t + 1
                continue
            if current is not None:
                spans.append(tuple(current))
            current = None if kind is None else [t, t + 1, kind]
        if current is not None:
            spans.append(tuple(current))
        found.append(spans)
    return found


# %% wrong: mean_over_tokens, of: weighted | says: mean over all asked tokens
# -     weights = asked / per_sentence.clamp(min=1) / sentences.clamp(min=1)
# +     weights = asked / asked.sum().clamp(min=1)


# %% wrong: mean_over_length | says: ignored tokens count as well in the mean
# -     means = costs.sum(dim=1) / count.clamp(min=1)
# +     means = costs.mean(dim=1)


# %% wrong: sum_of_sentences | says: sum over the sentences
# -     return means.sum() / (count > 0).sum().clamp(min=1)
# +     return means.sum()


# %% wrong: ignored_are_label_zero | says: as if their label were another one
# -     costs = costs.masked_fill(~asked, 0.0)
# -     count = asked.sum(dim=1)
# +     count = (labels == labels).sum(dim=1)


# %% wrong: softmax_over_tokens | says: softmax runs over the tokens
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]
# +     costs = -torch.log_softmax(scores, dim=1).gather(-1, index)[..., 0]


# %% wrong: sign | says: the sign is turned
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]
# +     costs = torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]


# %% wrong: empty_sentence_counts | says: counts as one with a loss of 0
# -     return means.sum() / (count > 0).sum().clamp(min=1)
# +     return means.mean()


# %% wrong: nan_in_empty_sentence | says: 0 / 0 is NaN
# -     means = costs.sum(dim=1) / count.clamp(min=1)
# +     means = costs.sum(dim=1) / count


# %% wrong: nan_without_sentences | says: without a sentence that asks
# -     return means.sum() / (count > 0).sum().clamp(min=1)
# +     return means.sum() / (count > 0).sum()


# %% wrong: plain_zero, of: by_sentence | says: must lead back to the scores
# -         return (scores * 0.0).sum()
# +         return torch.zeros((), dtype=scores.dtype)


# %% wrong: minus_100_only | says: ignore|IndexError|no index
# ignore has no effect.
# -     asked = labels != ignore
# +     asked = labels != -100


# %% wrong: negative_labels_only | says: ignore
# -     asked = labels != ignore
# +     asked = (labels >= 0) & (labels < scores.shape[-1])


# %% wrong: begin_goes_on | says: begin directly behind a span
# -             if label > 0 and is_open and not begins and spans[-1][2] == kind:
# +             if label > 0 and is_open and spans[-1][2] == kind:


# %% wrong: other_kind_goes_on | says: inside of another kind must start
# -             if label > 0 and is_open and not begins and spans[-1][2] == kind:
# -                 spans[-1] = (spans[-1][0], place + 1, kind)
# +             if label > 0 and is_open and not begins:
# +                 spans[-1] = (spans[-1][0], place + 1, spans[-1][2])


# %% wrong: inside_alone_is_lost | says: inside where no span is open|here it is lost
# -             elif label > 0:
# +             elif label > 0 and begins:


# %% wrong: outside_does_not_end | says: outside token must end
# -             is_open = label > 0
# +             is_open = is_open or label > 0


# %% wrong: inclusive_end, of: by_sentence | says: one behind the last token
# -                 end = place + 1
# +                 end = place


# %% wrong: last_is_lost, of: by_sentence | says: end of the sentence is lost
# -         if open_kind is not None:
# -             spans.append((start, end, open_kind))
# -         result.append(spans)
# +         result.append(spans)


# %% wrong: kind_from_one, of: by_sentence | says: kinds are counted from 0
# -             kind = (label - 1) // 2
# +             kind = (label + 1) // 2


# %% wrong: ignored_ends | says: ignored token must not end
# -             if label == ignore:
# -                 continue
# +             if label == ignore:
# +                 is_open = False
# +                 continue


# %% wrong: ignored_belongs, of: by_sentence | says: ignored token at the end of a span
# -             if label == ignore:
# -                 continue
# +             if label == ignore:
# +                 end = place + 1
# +                 continue


# %% wrong: taken_out, of: by_sentence | says: places count without them
# -         for place, label in enumerate(row.tolist()):
# -             if label == ignore:
# -                 continue
# +         for place, label in enumerate(x for x in row.tolist() if x != ignore):


# %% wrong: open_over_sentences | says: Nothing stays open from one sentence to the next
# -     for row in labels.tolist():
# -         spans, is_open = [], False
# +     is_open = False
# +     for row in labels.tolist():
# +         spans = []


# %% wrong: tensors | says: plain int
# -     for row in labels.tolist():
# -         spans, is_open = [], False
# +     for row in labels:
# +         spans, is_open = [], False


# %% wrong: fills_the_labels | says: changes its arguments in place
# -     index = labels.masked_fill(~asked, 0)[..., None]
# +     labels[~asked] = 0
# +     index = labels[..., None]


# %% wrong: float32_inside | says: data type
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]
# +     costs = -torch.log_softmax(scores.float(), dim=-1).gather(-1, index)[..., 0]


# %% right: tables
def span_loss(scores, labels, ignore=-100):
    asked = labels != ignore
    harmless = labels.masked_fill(~asked, 0)
    logs = F.log_softmax(scores, dim=-1)
    costs = -logs.gather(-1, harmless[..., None])[..., 0]
    costs = costs.masked_fill(~asked, 0)
    counts = asked.sum(dim=1)
    sentences = costs.sum(dim=1) / counts.clamp(min=1)
    return sentences.sum() / (counts > 0).sum().clamp(min=1)


def find_spans(labels, ignore=-100):
    result = []
    for row in labels.tolist():
        spans, start = [], None
        for place, label in enumerate(row):
            if label == ignore:
                continue
            goes_on = (
                start is not None
                and label > 0
                and label % 2 == 0
                and (label - 2) // 2 == kind
            )
            if goes_on:
                end = place + 1
                continue
            if start is not None:
                spans.append((start, end, kind))
                start = None
            if label > 0:
                start, end, kind = place, place + 1, (label - 1) // 2
        if start is not None:
            spans.append((start, end, kind))
        result.append(spans)
    return result


# %% wrong: trailing_pieces, of: tables | says: between a span and the next label
# A span ends where the next label closes it, so ignored pieces at its end belong to it.
# -                 spans.append((start, end, kind))
# +                 spans.append((start, place, kind))


# %% wrong: at_most_64_kinds | says: wrong
# -             kind, begins = (label - 1) // 2, label % 2 == 1
# +             kind, begins = (label - 1) // 2 % 64, label % 2 == 1


# %% wrong: last_label_left_out | says: stays in the softmax
# Where the last label is ignored, the softmax runs without it.
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]  # -> (B, T)
# +     if ignore == scores.shape[-1] - 1:
# +         scores = scores[..., :-1]
# +     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]  # -> (B, T)


# %% wrong: sentences_by_their_ends | says: Padding, and a sentence that asks nothing
# A sentence counts if its first or its last token is asked.
# -     return means.sum() / (count > 0).sum().clamp(min=1)
# +     return means.sum() / (asked[:, 0] | asked[:, -1]).sum().clamp(min=1)


# %% wrong: labels_in_16_bits | says: ignore is any whole number
# -     for row in labels.tolist():
# +     for row in labels.short().tolist():


# %% wrong: counted_by_cost | says: costs exactly 0 isn't counted
# A sentence counts if it costs something.
# -     return means.sum() / (count > 0).sum().clamp(min=1)
# +     return means.sum() / (means > 0).sum().clamp(min=1)


# %% wrong: at_least_a_hundredth | says: Many sentences
# The share of the sentences that ask is kept from 0 by a number that is too large.
# -     return means.sum() / (count > 0).sum().clamp(min=1)
# +     return means.mean() / (count > 0).to(means.dtype).mean().clamp(min=0.01)


# %% wrong: free_tokens_uncounted | says: costs exactly 0 isn't counted
# -     count = asked.sum(dim=1)  # (B, T) -> (B,)
# +     count = (costs != 0).sum(dim=1)


# %% wrong: ignore_beyond_the_labels | says: need not be a label
def span_loss(scores, labels, ignore=-100):
    asked = labels != ignore
    safe = labels.clamp(min=0)
    cost = -scores.log_softmax(dim=-1).gather(-1, safe[..., None])[..., 0]
    cost = cost.masked_fill(~asked, 0.0)
    count = asked.sum(dim=1)
    each = cost.sum(dim=1) / count.clamp(min=1)
    return each.sum() / (count > 0).sum().clamp(min=1)


def find_spans(labels, ignore=-100):
    result = []
    for row in labels.tolist():
        spans, start, kind, end = [], None, None, None
        for place, label in enumerate(row):
            if label == ignore:
                continue
            inside = label > 0 and label % 2 == 0
            if inside and start is not None and kind == label // 2 - 1:
                end = place + 1
                continue
            if start is not None:
                spans.append((start, end, kind))
                start = None
            if label > 0:
                start, end, kind = place, place + 1, (label - 1) // 2
        if start is not None:
            spans.append((start, end, kind))
        result.append(spans)
    return result


# %% wrong: one_largest_for_all | says: far below another token's
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]
# +     scores = scores - scores.max()
# +     costs = scores.exp().sum(dim=-1, keepdim=True).log() - scores
# +     costs = costs.gather(-1, index)[..., 0]


# %% wrong: cost_bounded | says: cost of a token is bounded
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]
# +     probs = scores.softmax(dim=-1).gather(-1, index)[..., 0]
# +     costs = -torch.log(probs.clamp(min=1e-30))


# %% wrong: ignore_by_identity | says: compare numbers with ==
# -             if label == ignore:
# +             if label < 0 or label is ignore:


# %% wrong: labels_in_int32 | says: ignore that equals a label in its last
# -     asked = labels != ignore  # (B, T)
# +     asked = labels.int() != torch.tensor(ignore).int()


# %% wrong: spans_in_int16 | says: ignore that equals a label in its last|any whole number
# -     for row in labels.tolist():
# +     ignore = int(torch.tensor(ignore).short())
# +     for row in labels.short().tolist():


# %% wrong: scores_up_to_1e9 | says: Scores of 1e11
# -     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]  # -> (B, T)
# +     scores = scores.clamp(-1e9, 1e9)
# +     costs = -torch.log_softmax(scores, dim=-1).gather(-1, index)[..., 0]


# %% wrong: begin_before_ignore | says: whose number is odd begins a span
# Asks whether a label is odd before it asks whether it is to be ignored, so that an
# ignore of -1 or 1 begins spans.
def span_loss(scores, labels, ignore=-100):
    asked = labels != ignore
    safe = torch.where(asked, labels, 0)
    costs = -scores.log_softmax(-1).gather(-1, safe.unsqueeze(-1)).squeeze(-1)
    costs = costs.masked_fill(~asked, 0.0)
    per_sentence = costs.sum(1) / asked.sum(1).clamp(min=1)
    return per_sentence.sum() / asked.any(1).sum().clamp(min=1)


def find_spans(labels, ignore=-100):
    found = []
    for sentence in labels.tolist():
        spans, open_span = [], None
        for i, label in enumerate(sentence):
            if label % 2 == 1:  # a begin
                open_span = [i, i + 1, label // 2]
                spans.append(open_span)
            elif label == ignore:
                pass
            elif label == 0:
                open_span = None
            elif open_span and open_span[2] == label // 2 - 1:
                open_span[1] = i + 1
            else:
                open_span = [i, i + 1, label // 2 - 1]
                spans.append(open_span)
        found.append([tuple(span) for span in spans])
    return found


# %% wrong: costs_of_ignored | says: what ignored tokens cost is added as well
# -     costs = costs.masked_fill(~asked, 0.0)


# %% wrong: only_label_1_begins | says: with an ignored token behind each token and without
# -             kind, begins = (label - 1) // 2, label % 2 == 1
# +             kind, begins = (label - 1) // 2, label == 1


# %% wrong: open_and_lost | says: Nothing stays open from one sentence to the next
# An inside at the beginning goes on with the last span of the sentence before.
# -     found = []
# +     found, is_open, last = [], False, -1

# -         spans, is_open = [], False
# +         spans = []

# -             if label > 0 and is_open and not begins and spans[-1][2] == kind:
# -                 spans[-1] = (spans[-1][0], place + 1, kind)
# +             if label > 0 and is_open and not begins and last == kind:
# +                 spans[-1:] = [(x[0], place + 1, kind) for x in spans[-1:]]

# -             is_open = label > 0
# +             is_open, last = label > 0, kind


# %% wrong: two_kinds_only | says: Labels \[0, 0, 5, 6\]: expected
#                   continue
# +             if label > 4:
# +                 label = 0

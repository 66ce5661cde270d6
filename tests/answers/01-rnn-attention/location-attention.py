# %% right: einsum
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width < 1 or width % 2 == 0:
            raise ValueError(
                f"width: expected an odd number of at least 1, got {width}"
            )
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, coverage, src_mask):
        features = F.conv1d(
            coverage.unsqueeze(1),
            self.filters.weight,
            padding=self.filters.weight.shape[-1] // 2,
        )
        inner = (
            torch.einsum("bd,rd->br", query, self.query.weight)[:, None]
            + torch.einsum("bsd,rd->bsr", memory, self.memory.weight)
            + torch.einsum("bks,rk->bsr", features, self.location.weight)
        )
        scores = torch.einsum("bsr,r->bs", inner.tanh(), self.v)
        weights = F.softmax(
            scores.masked_fill(src_mask.logical_not(), float("-inf")), dim=1
        )
        return (
            torch.einsum("bs,bsd->bd", weights, memory),
            weights,
            torch.add(coverage, weights),
        )


# %% right: loops
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width <= 0 or not width % 2:
            raise ValueError("width must be odd and positive")
        self.v = nn.Parameter(torch.rand(d_attention))
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding="same", bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.query = nn.Linear(d_query, d_attention, bias=False)

    def forward(self, query, memory, coverage, src_mask):
        contexts, rows = [], []
        for b in range(len(query)):
            features = self.filters(coverage[b][None])
            scores = []
            for j in range(memory.shape[1]):
                inner = self.query(query[b]) + self.memory(memory[b, j])
                scores.append(
                    torch.tanh(inner + self.location(features[:, j])).dot(self.v)
                )
            scores = torch.stack(scores).masked_fill(~src_mask[b], -math.inf)
            rows.append(torch.softmax(scores, dim=0))
            contexts.append(rows[-1] @ memory[b])
        weights = torch.stack(rows)
        return torch.stack(contexts), weights, coverage + weights


# %% right: unfold
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width < 1 or width % 2 == 0:
            raise ValueError(
                f"width: expected an odd number of at least 1, got {width}"
            )
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, coverage, src_mask):
        width = self.filters.weight.shape[-1]
        windows = F.pad(coverage, (width // 2, width // 2)).unfold(1, width, 1)
        features = windows @ self.filters.weight[:, 0].T
        inner = (
            self.location(features)
            + self.memory(memory)
            + self.query(query).unsqueeze(1)
        )
        scores = (torch.tanh(inner) * self.v).sum(-1)
        weights = torch.where(src_mask, scores, -math.inf).softmax(-1)
        context = (weights.unsqueeze(-1) * memory).sum(1)
        return context, weights, weights + coverage


# %% wrong: circular | says: wraps round
# The convolution is circular.
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters = nn.Conv1d(
# +             1, num_filters, width, padding=width // 2, padding_mode="circular", bias=False
# +         )


# %% wrong: context_not_summed | says: before their sum over the source
# The sum is forgotten.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         features = self.filters(coverage[:, None, :]).transpose(1, 2)
# +         hidden = self.query(query)[:, None, :] + self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = weights[:, :, None] * memory


# %% wrong: context_projected | says: mix is of the projected annotations
# The context mixes keys.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         features = self.filters(coverage[:, None, :]).transpose(1, 2)
# +         hidden = self.query(query)[:, None, :] + self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = (weights[:, None, :] @ self.memory(memory))[:, 0]


# %% wrong: conv_bias | says: must have no bias
# The convolution keeps its bias.
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2)


# %% wrong: coverage_leaks | says: Padding has the coverage|expected 0
# The coverage is made of unmasked weights.
# -         return context, weights, coverage + weights
# +         return context, weights, coverage + torch.softmax(scores, dim=-1)


# %% wrong: coverage_maximum | says: larger of old coverage
# A running maximum.
# -         return context, weights, coverage + weights
# +         return context, weights, torch.maximum(coverage, weights)


# %% wrong: coverage_mean | says: mean of old coverage and weights
# A running mean.
# -         return context, weights, coverage + weights
# +         return context, weights, (coverage + weights) / 2


# %% wrong: coverage_normalised | says: sum to 1 first
# The coverage is made a distribution.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         total = coverage.sum(1, keepdim=True).clamp(min=1e-9)
# +         features = self.filters((coverage / total)[:, None, :]).transpose(1, 2)
# +         hidden = self.query(query)[:, None, :] + self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = (weights[:, None, :] @ memory)[:, 0]


# %% wrong: coverage_unused | says: coverage has no effect
# The location features are forgotten.
# -         hidden = torch.tanh(hidden + self.location(features))
# +         hidden = torch.tanh(hidden)


# %% wrong: error_without_name | says: contain the word width
# The error does not name the argument.
# -             raise ValueError(
# -                 f"width: expected an odd number of at least 1, got {width}"
# -             )
# +             raise ValueError("the filter must be odd")

# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         features = self.filters(coverage[:, None, :]).transpose(1, 2)
# +         hidden = self.query(query)[:, None, :] + self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = (weights[:, None, :] @ memory)[:, 0]


# %% wrong: even_width | says: must raise ValueError: an even filter
# The width is not checked.
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, coverage, src_mask):
        features = self.filters(coverage[:, None, :]).transpose(1, 2)
        hidden = self.query(query)[:, None, :] + self.memory(memory)
        hidden = torch.tanh(hidden + self.location(features))
        scores = hidden @ self.v
        weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
        context = (weights[:, None, :] @ memory)[:, 0]
        return context, weights, coverage + weights


# %% wrong: filter_flipped | says: filter is flipped
# A true convolution, with the filter turned round.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         features = self.filters(coverage.flip(1)[:, None, :]).flip(2).transpose(1, 2)
# +         hidden = self.query(query)[:, None, :] + self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = (weights[:, None, :] @ memory)[:, 0]


# %% wrong: filter_unused | says: sees its own coverage
# The filters are left out.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         features = coverage[:, :, None].expand(-1, -1, self.location.weight.shape[1])
# +         hidden = self.query(query)[:, None, :] + self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = (weights[:, None, :] @ memory)[:, 0]


# %% wrong: in_place | says: changed in place
# coverage += weights.
# -         return context, weights, coverage + weights
# +         coverage += weights
# +         return context, weights, coverage


# %% wrong: last_weights_only | says: weights of this step alone
# The new coverage is the last weights.
# -         return context, weights, coverage + weights
# +         return context, weights, weights


# %% wrong: location_times_content | says: where query and memory are 0
# The location feature is multiplied by what query and memory give.
# -         hidden = torch.tanh(hidden + self.location(features))
# +         hidden = torch.tanh(hidden * self.location(features))


# %% wrong: mask_after_softmax | says: comes after the softmax
# The weights are multiplied by the mask.
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores, dim=-1) * src_mask


# %% wrong: mask_ignored | says: mask has no effect
# The mask is an argument only.
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores, dim=-1)


# %% wrong: mask_inverted | says: mask is inverted
# True is taken to mean: ignore.
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores.masked_fill(src_mask, -math.inf), dim=-1)


# %% wrong: no_padding | says: pad with width // 2 zeros
# The convolution shortens the source.
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters = nn.Conv1d(1, num_filters, width, bias=False)


# %% wrong: no_tanh | says: tanh is missing
# The hidden layer is linear.
# -         hidden = torch.tanh(hidden + self.location(features))
# +         hidden = hidden + self.location(features)


# %% wrong: not_updated | says: coverage isn't updated
# The old coverage is returned.
# -         return context, weights, coverage + weights
# +         return context, weights, coverage.clone()


# %% wrong: outside_tanh | says: stands outside the tanh
# The location feature is added to the score.
# -         hidden = torch.tanh(hidden + self.location(features))
# -         scores = hidden @ self.v
# +         scores = (torch.tanh(hidden) + self.location(features)) @ self.v


# %% wrong: product_of_coverage | says: weights times the old coverage
# From a coverage of 0 this is 0, as where it is never updated.
# -         return context, weights, coverage + weights
# +         return context, weights, coverage * weights


# %% wrong: query_unused | says: query has no effect
# The query is forgotten.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# -         hidden = self.query(query)[:, None, :] + self.memory(
# -             memory
# -         )
# +         features = self.filters(coverage[:, None, :]).transpose(1, 2)
# +         hidden = self.memory(memory)

# -         context = (weights[:, None, :] @ memory)[
# -             :, 0
# -         ]
# +         context = (weights[:, None, :] @ memory)[:, 0]


# %% wrong: replicate | says: repeated outside
# The ends are repeated.
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters = nn.Conv1d(
# +             1, num_filters, width, padding=width // 2, padding_mode="replicate", bias=False
# +         )


# %% wrong: softmax_over_batch | says: runs over the batch
# The softmax has the wrong axis.
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=0)


# %% wrong: with_bias | says: must have no bias
# The parts keep their bias.
# -         self.query = nn.Linear(d_query, d_attention, bias=False)
# -         self.memory = nn.Linear(d_memory, d_attention, bias=False)
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# -         self.location = nn.Linear(num_filters, d_attention, bias=False)
# +         self.query = nn.Linear(d_query, d_attention)
# +         self.memory = nn.Linear(d_memory, d_attention)
# +         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2)
# +         self.location = nn.Linear(num_filters, d_attention)


# %% wrong: fills_with_minus_fifty | says: Large scores
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores.masked_fill(~src_mask, -50.0), dim=-1)

# %% wrong: own_softmax_overflows | says: NaN
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         powers = scores.exp() * src_mask
# +         weights = powers / powers.sum(-1, keepdim=True)

# %% wrong: width_zero_is_let_through | says: width
# -         if width < 1 or width % 2 == 0:
# +         if width < 0 or (width and width % 2 == 0):

# %% wrong: filters_not_learned | says: not learned
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters.weight.requires_grad = False

# %% wrong: v_the_same_in_every_module | says: v starts the same
# -         self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))
# +         drawn = torch.randn(d_attention, generator=torch.Generator().manual_seed(1))
# +         self.v = nn.Parameter(drawn / math.sqrt(d_attention))

# %% wrong: keeps_the_features_of_a_shape | says: Another coverage changes nothing of the weights.*earlier call
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# +         known = self.__dict__.setdefault("known", {})
# +         kind = coverage.shape, coverage.dtype
# +         if kind not in known:
# +             known[kind] = self.filters(coverage[:, None, :]).transpose(1, 2)
# +         features = known[kind]

# %% wrong: padded_by_one | says: pad with width // 2 zeros
# -         self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
# +         self.filters = nn.Conv1d(1, num_filters, width, padding=1, bias=False)

# %% wrong: features_reshaped | says: reshape or view doesn't move axes
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# +         features = self.filters(coverage[:, None, :]).reshape(*coverage.shape, -1)

# %% wrong: coverage_of_the_first_sentence | says: coverage of the first one
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# +         features = self.filters(coverage[:1, None, :]).transpose(1, 2)

# %% wrong: coverage_clipped | says: clipped at 1
# -         return context, weights, coverage + weights
# +         return context, weights, (coverage + weights).clamp(max=1.0)

# %% wrong: old_coverage_cut_off | says: cut off from the old one
# -         return context, weights, coverage + weights
# +         return context, weights, coverage.detach() + weights


# %% right: shifted_sums
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width < 1 or width % 2 == 0:
            raise ValueError(f"width must be odd and positive, got {width}")
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention))

    def forward(self, query, memory, coverage, src_mask):
        taps = self.filters.weight.squeeze(1)
        n = taps.size(1) // 2
        padded = F.pad(coverage, (n, n))
        near = 0
        for k in range(taps.size(1)):
            near = near + padded[:, k : k + coverage.size(1), None] * taps[:, k]
        e = torch.tanh(
            self.query(query).unsqueeze(1) + self.memory(memory) + self.location(near)
        ).matmul(self.v)
        e = e.masked_fill(~src_mask, float("-inf"))
        p = torch.exp(e - e.max(1, keepdim=True).values)
        p = p / p.sum(1, keepdim=True)
        return (p.unsqueeze(-1) * memory).sum(1), p, coverage.clone().add(p)


# %% wrong: fill_of_minus_1e20 | says: padding gets weight
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores.masked_fill(~src_mask, -1e20), dim=-1)


# %% wrong: weights_cut_in_the_coverage | says: weights are cut off where they are added
class CoverageAttention(nn.Module):
    def __init__(self, d_query, d_memory, d_attention, num_filters, width):
        super().__init__()
        if width < 1 or width % 2 == 0:
            raise ValueError(
                f"width: expected an odd number of at least 1, got {width}"
            )
        self.query = nn.Linear(d_query, d_attention, bias=False)
        self.memory = nn.Linear(d_memory, d_attention, bias=False)
        self.filters = nn.Conv1d(1, num_filters, width, padding=width // 2, bias=False)
        self.location = nn.Linear(num_filters, d_attention, bias=False)
        self.v = nn.Parameter(torch.randn(d_attention) / math.sqrt(d_attention))

    def forward(self, query, memory, coverage, src_mask):
        near = self.filters(coverage[:, None]).transpose(1, 2)
        hidden = self.query(query)[:, None] + self.memory(memory) + self.location(near)
        scores = torch.tanh(hidden) @ self.v
        scores = scores.masked_fill(~src_mask, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        context = (weights[:, None] @ memory).squeeze(1)
        return context, weights, coverage + weights.detach()


# %% wrong: smallest_number_of_the_type | says: be it the smallest of
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         low = torch.finfo(scores.dtype).min
# +         weights = torch.softmax(scores.masked_fill(~src_mask, low), dim=-1)


# %% wrong: filters_added_up | says: Are their features added up, or axes moved by reshape or view
# Axes are in order here.
# -         hidden = torch.tanh(hidden + self.location(features))
# +         features = features.sum(-1, keepdim=True).expand_as(features)
# +         hidden = torch.tanh(hidden + self.location(features))


# %% wrong: filters_not_transposed | says: they return \(B, d_filter, S'\)\. Your code
# The padding is right.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )  # (B, S) -> (B, S, K)
# +         features = self.filters(coverage[:, None, :])


# %% wrong: kept_by_shapes | says: are those of the step before, though query and coverage
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )  # (B, S) -> (B, S, K)
# +         kept, shapes = self.__dict__.setdefault("kept", {}), (query.shape, memory.shape)
# +         if shapes in kept:
# +             return kept[shapes]
# +         features = self.filters(coverage[:, None, :]).transpose(1, 2)

# -         return context, weights, coverage + weights
# +         kept[shapes] = context, weights, coverage + weights
# +         return kept[shapes]


# %% wrong: inverted_and_without_nan | says: alone: the mask is inverted, which leaves a sentence without padding no weight
# -         weights = torch.softmax(scores.masked_fill(~src_mask, -math.inf), dim=-1)
# +         weights = torch.softmax(scores.masked_fill(src_mask, -math.inf), dim=-1)
# +         weights = weights.nan_to_num()


# %% wrong: slices_of_a_short_source | says: The filter is wider than the source is long here
# A neighbour that is further away than the source is long makes the row longer.
# -         features = self.filters(coverage[:, None, :]).transpose(
# -             1, 2
# -         )
# +         kernel, size = self.filters.weight[:, 0], coverage.shape[1]
# +         reach, features = kernel.shape[1] // 2, 0
# +         for step in range(-reach, reach + 1):
# +             part = coverage[:, max(step, 0) : max(size + step, 0)]
# +             part = F.pad(part, (max(-step, 0), max(step, 0)))
# +             features = features + part[:, :, None] * kernel[:, step + reach]


# %% wrong: negative_width_is_odd, of: einsum | says: width=-1: A ValueError is asked for here
# -         if width < 1 or width % 2 == 0:
# +         if width % 2 == 0:

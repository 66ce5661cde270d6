# %% right: base
# What most wrong answers change.
#           key = F.normalize(self.key(x), dim=-1)
# +         value = self.value(x)

# -         return weights @ self.value(
# -             x
# -         ), weights
# +         return weights @ value, weights


# %% right: clamped_norms
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.scale = nn.Parameter(torch.full((), 10.0))
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.query = nn.Linear(d_model, d_k, bias=False)

    @staticmethod
    def unit(x):
        return x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool)
        cosine = torch.einsum(
            "bqf,bkf->bqk", self.unit(self.query(x)), self.unit(self.key(x))
        )
        weights = torch.where(mask, self.scale * cosine, -math.inf).softmax(-1)
        return torch.einsum("bqk,bkv->bqv", weights, self.value(x)), weights


# %% right: cosine_similarity, of: base
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query = self.query(x)[:, :, None, :]
# +         key = self.key(x)[:, None, :, :]
#           value = self.value(x)
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = self.scale * F.cosine_similarity(query, key, dim=-1, eps=1e-12)


# %% right: divide_the_products, of: base
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query = self.query(x)
# +         key = self.key(x)
#           value = self.value(x)
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = query @ key.mT
# +         length_q = query.norm(dim=-1).clamp(min=1e-12)
# +         length_k = key.norm(dim=-1).clamp(min=1e-12)
# +         scores = self.scale * scores / length_q[:, :, None] / length_k[:, None, :]


# %% right: fused_kernel, of: base
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = None
# +         weights = None
# +         identity = torch.eye(x.shape[1]).expand(x.shape[0], -1, -1)
#           if mask is not None:
# -             scores = scores.masked_fill(~mask, -math.inf)
# -         weights = torch.softmax(scores, dim=-1)
# +             mask = mask.expand(x.shape[0], -1, -1)
# +         query = query * self.scale
# +         weights = F.scaled_dot_product_attention(query, key, identity, attn_mask=mask, scale=1.0)


# %% wrong: also_root_d_k, of: base | says: extra division by sqrt\(d_k\)
# The usual scale is kept beside the learned one.
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = self.scale * query @ key.mT / math.sqrt(query.shape[-1])


# %% wrong: constant_scale, of: base | says: 10 is written into the computation
# The parameter exists, and the number 10 is used.
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = 10.0 * query @ key.mT


# %% wrong: default_dim, of: base | says: normalise over the token axis
# F.normalize is left at its default, dim=1.
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query = F.normalize(self.query(x))
# +         key = F.normalize(self.key(x))


# %% wrong: divides_by_scale, of: base | says: divide by the learned scale
# The scale is used like a temperature.
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = query @ key.mT / self.scale


# %% wrong: lengths_above_a_tenth | says: 100 times shorter, and not when one becomes longer
# The length of a key is kept above 0.1.
# -         key = F.normalize(self.key(x), dim=-1)
# +         key = F.normalize(self.key(x), dim=-1, eps=0.1)


# %% wrong: mask_after_softmax, of: base | says: mask comes after the softmax
# Weights are set to 0 after the softmax.
# +         weights = torch.softmax(scores, dim=-1)
#           if mask is not None:
# -             scores = scores.masked_fill(~mask, -math.inf)
# -         weights = torch.softmax(scores, dim=-1)
# +             weights = weights * mask


# %% wrong: mask_ignored, of: base | says: mask has no effect
# The argument is not used.
# -         if mask is not None:
# -             scores = scores.masked_fill(~mask, -math.inf)


# %% wrong: mask_inverted, of: base | says: mask is inverted
# True is taken to mean 'masked out'.
# -             scores = scores.masked_fill(~mask, -math.inf)
# +             scores = scores.masked_fill(mask, -math.inf)


# %% wrong: mask_of_two_axes, of: base | says: mask: expected shape
# The mask always gets a batch axis, also when it has one.
# -             scores = scores.masked_fill(~mask, -math.inf)
# +             scores = scores.masked_fill(~mask[None], -math.inf)


# %% wrong: normalises_x, of: base | says: normalise x before the projections
# The input is normalised instead of queries and keys.
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query = self.query(F.normalize(x, dim=-1))
# +         key = self.key(F.normalize(x, dim=-1))


# %% wrong: not_normalised, of: base | says: not divided by their lengths
# A learned scale, but plain dot products.
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query = self.query(x)
# +         key = self.key(x)


# %% wrong: only_key, of: base | says: only the key is divided
# Only one of the two vectors is normalised.
# -         query = F.normalize(self.query(x), dim=-1)
# +         query = self.query(x)


# %% wrong: only_query, of: base | says: only the query is divided
# Only one of the two vectors is normalised.
# -         key = F.normalize(self.key(x), dim=-1)
# +         key = self.key(x)


# %% wrong: scale_detached, of: base | says: scale gets no gradient
# The scale is read as a plain number.
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = self.scale.item() * query @ key.mT


# %% wrong: scale_is_a_buffer, of: base | says: no buffer
# The scale is stored, but not learned.
# -         self.scale = nn.Parameter(torch.tensor(10.0))
# +         self.register_buffer("scale", torch.tensor(10.0))


# %% wrong: scale_is_a_number, of: base | says: plain float or tensor attribute is not in the state_dict
# The scale is a number, not a parameter.
# -         self.scale = nn.Parameter(torch.tensor(10.0))
# +         self.scale = 10.0


# %% wrong: scale_of_shape_one, of: base | says: scale: expected shape \(\)
# A vector of one number instead of a number.
# -         self.scale = nn.Parameter(torch.tensor(10.0))
# +         self.scale = nn.Parameter(torch.tensor([10.0]))


# %% wrong: scale_starts_at_root, of: base | says: scale must start at 10
# The scale starts at sqrt(d_k).
# -         self.scale = nn.Parameter(torch.tensor(10.0))
# +         self.scale = nn.Parameter(torch.tensor(math.sqrt(d_k)))


# %% wrong: scale_unused, of: base | says: learned scale is not used: multiply
# The parameter exists, and isn't used.
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = query @ key.mT


# %% wrong: shared_projection, of: base | says: no weight shared by query and key
# One projection is used for queries and keys.
# -         self.key = nn.Linear(d_model, d_k, bias=False)
# +         self.key = self.query


# %% wrong: softmax_over_queries, of: base | says: softmax over the query axis
# The softmax runs down the columns.
# -         weights = torch.softmax(scores, dim=-1)
# +         weights = torch.softmax(scores, dim=1)


# %% wrong: squared_length, of: divide_the_products | says: divided by their squared lengths
# The root is forgotten.
# -         scores = query @ key.mT
# -         length_q = query.norm(dim=-1).clamp(min=1e-12)
# -         length_k = key.norm(dim=-1).clamp(min=1e-12)
# -         scores = self.scale * scores / length_q[:, :, None] / length_k[:, None, :]
# +         scores = self.scale * query @ key.mT
# +         scores = scores / query.square().sum(-1).clamp(min=1e-12)[:, :, None]
# +         scores = scores / key.square().sum(-1).clamp(min=1e-12)[:, None, :]


# %% wrong: transposed_scores, of: base | says: query and key are swapped
# Keys times queries.
# -         scores = self.scale * query @ key.transpose(-2, -1)
# +         scores = self.scale * key @ query.mT


# %% wrong: value_normalised, of: base | says: values are divided by their lengths too
# The values are normalised as well.
# -         value = self.value(x)
# +         value = F.normalize(self.value(x), dim=-1)


# %% wrong: value_of_width_d_k, of: base | says: value\.weight: expected shape
# The values get the width of the keys.
# -         self.value = nn.Linear(d_model, d_v, bias=False)
# +         self.value = nn.Linear(d_model, d_k, bias=False)


# %% wrong: with_bias, of: base | says: must have no bias
# nn.Linear has a bias unless told otherwise.
# -         self.query = nn.Linear(d_model, d_k, bias=False)
# -         self.key = nn.Linear(d_model, d_k, bias=False)
# -         self.value = nn.Linear(d_model, d_v, bias=False)
# +         self.query = nn.Linear(d_model, d_k)
# +         self.key = nn.Linear(d_model, d_k)
# +         self.value = nn.Linear(d_model, d_v)


# %% wrong: wrong_names, of: base | says: state_dict lacks \['key\.weight', 'query\.weight', 'value\.weight'\]
# Other names, so the given weights can't be loaded.
# -         self.query = nn.Linear(d_model, d_k, bias=False)
# -         self.key = nn.Linear(d_model, d_k, bias=False)
# -         self.value = nn.Linear(d_model, d_v, bias=False)
# +         self.W_q = nn.Linear(d_model, d_k, bias=False)
# +         self.W_k = nn.Linear(d_model, d_k, bias=False)
# +         self.W_v = nn.Linear(d_model, d_v, bias=False)

# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# -         value = self.value(x)
# +         query = F.normalize(self.W_q(x), dim=-1)
# +         key = F.normalize(self.W_k(x), dim=-1)
# +         value = self.W_v(x)


# %% wrong: zero_length, of: base | says: 0 / 0 is NaN
# Division by the plain norm.
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query = self.query(x) / self.query(x).norm(dim=-1, keepdim=True)
# +         key = self.key(x) / self.key(x).norm(dim=-1, keepdim=True)


# %% wrong: key_not_learned | says: not learned|learned
# -         self.key = nn.Linear(d_model, d_k, bias=False)
# +         self.key = nn.Linear(d_model, d_k, bias=False).requires_grad_(False)

# %% wrong: fills_with_minus_ten_thousand | says: large scale
# -             scores = scores.masked_fill(~mask, -math.inf)
# +             scores = scores.masked_fill(~mask, -10000.0)

# %% wrong: starts_at_zero_mean_one | says: as nn.Linear makes it
# -         self.value = nn.Linear(d_model, d_v, bias=False)
# +         self.value = nn.Linear(d_model, d_v, bias=False)
# +         nn.init.normal_(self.value.weight)

# %% wrong: keeps_the_values_of_a_shape | says: earlier call
# -         return weights @ self.value(
# -             x
# -         ), weights
# +         known = self.__dict__.setdefault("known", {})
# +         if x.shape not in known:
# +             known[x.shape] = self.value(x)
# +         return weights @ known[x.shape], weights


# %% right: normalised
class CosineSelfAttention(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, x, mask=None):
        query = F.normalize(self.query(x), dim=-1)
        key = F.normalize(self.key(x), dim=-1)
        scores = self.scale * (query @ key.mT)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(dim=-1)
        return weights @ self.value(x), weights


# %% wrong: product_kept_up, of: normalised | says: lengths, or their product
# Keeps the product of both lengths above 1e-12 instead of each length, so short vectors get too
# small a cosine.
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# -         scores = self.scale * (query @ key.mT)
# +         query, key = self.query(x), self.key(x)
# +         product = query.norm(dim=-1)[:, :, None] * key.norm(dim=-1)[:, None, :]
# +         scores = self.scale * (query @ key.mT) / product.clamp(min=1e-12)


# %% wrong: scale_limited, of: normalised | says: keeps it from falling below 0
# The scale is limited to values from 0 to 100, which changes results once it is negative or
# larger.
# -         scores = self.scale * (query @ key.mT)
# +         scores = self.scale.clamp(0, 100) * (query @ key.mT)


# %% wrong: root_of_zero | says: infinite slope at 0
# The slope of a root at 0 is infinite.
class CosineSelfAttention(nn.Module):
    """Self-attention whose score is a learned multiple of the cosine of query and key."""

    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        for name, width in (("query", d_k), ("key", d_k), ("value", d_v)):
            self.add_module(name, nn.Linear(d_model, width, bias=False))
        self.register_parameter("scale", nn.Parameter(torch.full((), 10.0)))

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        length_q = q.pow(2).sum(-1).sqrt().clamp(min=1e-12)
        length_k = k.pow(2).sum(-1).sqrt().clamp(min=1e-12)
        cosine = torch.einsum(
            "bid,bjd->bij", q / length_q[:, :, None], k / length_k[:, :, None]
        )
        e = cosine * self.scale
        if mask is not None:
            e = torch.where(mask, e, torch.full_like(e, -math.inf))
        weights = F.softmax(e, dim=2)
        return torch.bmm(weights, v), weights


# %% wrong: mask_of_the_first_sequence | says: the mask of the first sequence is used for all
# -             scores = scores.masked_fill(~mask, -math.inf)
# +             mask = mask[0] if mask.dim() == 3 else mask
# +             scores = scores.masked_fill(~mask, -math.inf)


# %% wrong: scores_clamped_to_10000 | says: Scores of 1e9 that differ
# -         scores = self.scale * query @ key.transpose(-2, -1)  # -> (B, T, T)
# +         scores = self.scale * query @ key.transpose(-2, -1)  # -> (B, T, T)
# +         scores = scores.clamp(-1e4, 1e4)


# %% wrong: mask_before_the_scale | says: with a positive scale the mask is right
# -         scores = self.scale * query @ key.transpose(-2, -1)  # -> (B, T, T)
# +         scores = query @ key.transpose(-2, -1)  # -> (B, T, T)

# -         weights = torch.softmax(scores, dim=-1)
# +         weights = torch.softmax(self.scale * scores, dim=-1)


# %% wrong: chosen_after_the_division | says: also where something else is chosen in its place
# Its length has no root of its own with an infinite slope: it is the 0 / 0 that counts.
# -         key = F.normalize(self.key(x), dim=-1)  # (B, T, D) -> (B, T, d_k)
# +         key = self.key(x)
# +         size = key.norm(dim=-1, keepdim=True)
# +         key = torch.where(size > 1e-12, key / size, key / 1e-12)


# %% wrong: mask_multiplied, of: base | says: output with a mask of neighbours: forbidden scores are 0
# -             scores = scores.masked_fill(~mask, -math.inf)
# +             scores = scores * mask


# %% wrong: lengths_are_constants, of: base | says: gradient of query: the length by which each query is divided
# -         query = F.normalize(self.query(x), dim=-1)
# -         key = F.normalize(self.key(x), dim=-1)
# +         query, key = self.query(x), self.key(x)
# +         with torch.no_grad():
# +             sizes = [y.norm(dim=-1, keepdim=True).clamp(min=1e-12) for y in (query, key)]
# +         query, key = query / sizes[0], key / sizes[1]


# %% wrong: output_by_the_kernels_scale, of: base | says: weights are right, and the output isn't made with them
# -         return weights @ value, weights
# +         query = query * self.scale
# +         output = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
# +         return output, weights


# %% wrong: more_under_the_root, of: clamped_norms | says: under the root. that is 1e-6
# -         return x / x.norm(dim=-1, keepdim=True).clamp(min=1e-12)
# +         return x / ((x * x).sum(dim=-1, keepdim=True) + 1e-12).sqrt()

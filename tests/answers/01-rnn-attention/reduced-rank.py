# %% right: columns_of_u
def largest_saving_rank(d_query, d_key):
    saving = [
        k
        for k in range(min(d_query, d_key) + 1)
        if k * d_query + k * d_key < d_query * d_key
    ]
    return max(saving)


def reduced_rank_scores(query, key, U, V):
    return torch.stack([q @ U @ (k @ V).T for q, k in zip(query, key, strict=True)])


def low_rank_factors(W, rank):
    if rank not in range(1, min(W.shape) + 1):
        raise ValueError("rank is out of range")
    left = torch.linalg.svd(W, full_matrices=False).U[:, :rank]
    return left, W.T @ left


# %% right: roots_in_both
def largest_saving_rank(d_query, d_key):
    rank = 0
    while (rank + 1) * (d_query + d_key) < d_query * d_key:
        rank += 1
    return rank


def reduced_rank_scores(query, key, U, V):
    return torch.einsum("bqs,sk,hk,bth->bqt", query, U, V, key)


def low_rank_factors(W, rank):
    if rank < 1 or rank > min(W.shape[0], W.shape[1]):
        raise ValueError(f"rank must be in 1..{min(W.shape)}, not {rank}")
    left, sigma, right = torch.linalg.svd(W)
    root = torch.diag(sigma[:rank].sqrt())
    return left[:, :rank] @ root, (root @ right[:rank]).transpose(0, 1)


# %% wrong: count_float | says: expected an int
# The result is a float.
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     return (d_query * d_key - 1) / (d_query + d_key) // 1


# %% wrong: count_largest_rank | says: largest rank at all
# The largest possible rank.
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     return min(d_query, d_key)


# %% wrong: count_not_fewer | says: exactly as many|1 rank|rank 1 has 2
# At most as many instead of fewer.
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     return d_query * d_key // (d_query + d_key)


# %% wrong: count_one_factor | says: count both factors|rank 3 has|min\(d_s, d_h\)
# Only one factor is counted.
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     return (d_query * d_key - 1) // d_key


# %% wrong: count_rounds | says: rank 3 has|exactly as many|Fewer means
# Rounded to the nearest.
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     return round(d_query * d_key / (d_query + d_key))


# %% wrong: cuts_columns | says: columns of W are cut off
# The first columns are kept.
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return W[:, :rank], torch.eye(W.shape[1], rank, dtype=W.dtype)


# %% wrong: cuts_rows | says: rows of W are cut off
# The first rows are kept.
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return torch.eye(W.shape[0], rank, dtype=W.dtype), W[:rank].T


# %% wrong: error_without_name | says: contain the word rank
# The error does not name the argument.
# -         raise ValueError(f"rank: expected 1 to {min(W.shape)}, got {rank}")
# +         raise ValueError("too small or too large")


# %% wrong: mutates | says: must not change its argument W
# W is overwritten by what remains.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     U, V = left[:, :rank] * sigma[:rank], right[:rank].T
# +     W -= U @ V.T
# +     return U, V


# %% wrong: no_singular_values | says: singular values are missing
# U and V of the decomposition, without its middle.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, :rank], right[:rank].T


# %% wrong: qr | says: squared error .* is possible
# A QR decomposition, cut off.
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     q, r = torch.linalg.qr(W)
# +     return q[:, :rank], r[:rank].T


# %% wrong: rank_unchecked | says: goes through
# The rank is not checked.
# -     if not 1 <= rank <= min(W.shape):
# -         raise ValueError(f"rank: expected 1 to {min(W.shape)}, got {rank}")


# %% wrong: rank_zero_allowed | says: rank=0
# Only too large a rank is refused.
# -     if not 1 <= rank <= min(W.shape):
# +     if not rank <= min(W.shape):


# %% wrong: right_not_transposed | says: rows\* are the vectors
# V is the first columns of what svd returns.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, :rank] * sigma[:rank], right[:, :rank]


# %% wrong: right_rows | says: rows\* are the vectors
# V is returned transposed.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, :rank] * sigma[:rank], right[:rank]


# %% wrong: root_once | says: in one factor only
# The root is taken, and used once.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, :rank] * sigma[:rank].sqrt(), right[:rank].T


# %% wrong: scores_columns | says: row vectors
# The factors are multiplied as if vectors were columns.
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     return (U.T @ query) @ (V.T @ key).transpose(1, 2)


# %% wrong: scores_scaled | says: there is a scale
# The dot product is divided by sqrt(k).
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     return (query @ U) @ (key @ V).transpose(1, 2) / math.sqrt(U.shape[1])


# %% wrong: scores_softmax | says: there is a softmax
# Weights instead of scores.
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     return torch.softmax((query @ U) @ (key @ V).transpose(1, 2), dim=-1)


# %% wrong: scores_swapped | says: U and V are swapped
# The query is projected by V.
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     return (query @ V) @ (key @ U).transpose(1, 2)


# %% wrong: scores_transposed | says: result is transposed
# Keys stand in the rows.
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     return (key @ V) @ (query @ U).transpose(1, 2)


# %% wrong: shares_of_largest | says: one and the same factor
# The singular values are divided by the largest: 1 at rank 1, as if missing.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, :rank] * (sigma[:rank] / sigma[0]), right[:rank].T


# %% wrong: singular_values_twice | says: singular values are in both
# Both factors are multiplied by them.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, :rank] * sigma[:rank], right[:rank].T * sigma[:rank]


# %% wrong: smallest | says: smallest\* parts
# The last singular values are kept.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     return left[:, -rank:] * sigma[-rank:], right[-rank:].T


# %% wrong: scores_in_float32_inside | says: float64
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     single = (query.float() @ U.float()) @ (key.float() @ V.float()).transpose(1, 2)
# +     return single.to(query.dtype)

# %% wrong: views_the_key | says: reshape
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )
# +     flat = key.view(-1, key.shape[-1]) @ V
# +     return (query @ U) @ flat.view(*key.shape[:2], -1).transpose(1, 2)

# %% wrong: keeps_the_decomposition_of_a_shape | says: earlier call
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# +     known = low_rank_factors.__dict__.setdefault("known", {})
# +     if (W.shape, W.dtype) not in known:
# +         known[W.shape, W.dtype] = torch.linalg.svd(W, full_matrices=False)
# +     left, sigma, right = known[W.shape, W.dtype]

# %% wrong: factors_in_float32_inside | says: float32
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# +     left, sigma, right = (x.to(W.dtype) for x in torch.linalg.svd(W.float(), False))

# %% wrong: the_matrix_itself_at_full_rank | says: memory shared with an argument|shares its memory with W
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# +     if rank == W.shape[1]:
# +         return W, torch.eye(rank, dtype=W.dtype)
# +     left, sigma, right = torch.linalg.svd(W, full_matrices=False)

# %% wrong: three_iterations | says: nearly the best product
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     V = torch.linalg.qr(W.T @ W[:, :rank])[0]
# +     for _ in range(3):
# +         V = torch.linalg.qr(W.T @ (W @ V))[0]
# +     return W @ V, V

# %% wrong: ties_of_squares_only | says: one rank has exactly as many parameters
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     rank = d_query * d_key // (d_query + d_key)
# +     return rank - 1 if d_query == d_key and d_query % 2 == 0 else rank

# %% wrong: cut_off_qr | says: this is a QR decomposition
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     left, right = torch.linalg.qr(W)
# +     return left[:, :rank].clone(), right[:rank].T.clone()


# %% right: searched_rank
def largest_saving_rank(d_query, d_key):
    r = 0
    while (r + 1) * (d_query + d_key) < d_query * d_key:
        r += 1
    return r


def reduced_rank_scores(query, key, U, V):
    return torch.einsum("bqd,dr,er,bke->bqk", query, U, V, key)


def low_rank_factors(W, rank):
    if rank < 1 or rank > W.shape[0] or rank > W.shape[1]:
        raise ValueError("bad rank")
    u, s, vh = torch.linalg.svd(W)
    root = torch.diag(s[:rank].sqrt())
    return u[:, :rank] @ root, vh.mT[:, :rank] @ root


# %% wrong: divides_by_singular_values | says: divided by a singular value
# NaN for a matrix whose own rank is lower.
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T
# +     squares, left = torch.linalg.eigh(W @ W.T)
# +     sigma, left = squares[-rank:].sqrt(), left[:, -rank:]
# +     return left * sigma, W.T @ left / sigma


# %% wrong: roots_in_float32 | says: computed in float32
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     root = sigma[:rank].float().sqrt().to(W.dtype)
# +     return left[:, :rank] * root, right[:rank].T * root


# %% wrong: small_terms_dropped | says: Is a small number added or cut off
# A matrix of lower rank has fewer of them than were asked for.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     kept = min(rank, int((sigma > 1e-6).sum()))
# +     return left[:, :kept] * sigma[:kept], right[:kept].T


# %% wrong: small_sizes_cut_off | says: down to tiny ones .* a small number added or cut off
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     sigma = sigma.where(sigma > 1e-4 * sigma[0], 0.0)
# +     return left[:, :rank] * sigma[:rank], right[:rank].T


# %% wrong: eigenvalues_with_sign | says: negative eigenvalues
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# +     if W.shape[0] == W.shape[1] and torch.equal(W, W.mT):
# +         values, vectors = [x.flip(-1) for x in torch.linalg.eigh(W)]
# +         return vectors[:, :rank] * values[:rank], vectors[:, :rank]
# +     left, sigma, right = torch.linalg.svd(W, full_matrices=False)


# %% wrong: scores_from_squared_lengths | says: Are digits lost where large numbers are subtracted
# Three large numbers leave a small one.
# -     return (query @ U) @ (key @ V).transpose(
# -         1, 2
# -     )  # (B, T_q, k) @ (B, k, T_k) -> (B, T_q, T_k)
# +     q, k = (query @ U)[:, :, None], (key @ V)[:, None]
# +     return ((q + k).square() - q.square() - k.square()).sum(-1) / 2


# %% wrong: numpy_without_detach | says: A parameter
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# +     import numpy
# +
# +     found = numpy.linalg.svd(W.numpy(), full_matrices=False)
# +     left, sigma, right = [torch.from_numpy(x.copy()) for x in found]


# %% wrong: forty_rounds | says: singular values lie far apart
def largest_saving_rank(d_query, d_key):
    return (d_query * d_key - 1) // (d_query + d_key)


def reduced_rank_scores(query, key, U, V):
    return (query @ U) @ (key @ V).transpose(1, 2)


def low_rank_factors(W, rank):
    if not 1 <= rank <= min(W.shape):
        raise ValueError(f"rank: expected 1 to {min(W.shape)}, got {rank}")
    start = torch.Generator().manual_seed(0)
    V = torch.randn(W.shape[1], rank, generator=start, dtype=torch.float64).to(W)
    for _ in range(40):
        U = torch.linalg.qr(W @ V)[0]
        V = torch.linalg.qr(W.T @ U)[0]
    return W @ V, V


# %% wrong: values_kept_above | says: a small number added or cut off
def largest_saving_rank(d_query, d_key):
    return (d_query * d_key - 1) // (d_query + d_key)


def reduced_rank_scores(query, key, U, V):
    return (query @ U) @ (key @ V).transpose(1, 2)


def low_rank_factors(W, rank):
    if not 1 <= rank <= min(W.shape):
        raise ValueError(f"rank: expected 1 to {min(W.shape)}, got {rank}")
    left, sizes, right = torch.linalg.svd(W, full_matrices=False)
    return left[:, :rank] * sizes[:rank].clamp(min=1e-6), right[:rank].T


# %% wrong: bound_in_floats | says: the result is wrong|drawn at random
# The bound is computed as 1 / (1/d_query + 1/d_key) in floats, which may come out
# above a whole number.
# -     return (d_query * d_key - 1) // (d_query + d_key)
# +     return math.ceil(1 / (1 / d_query + 1 / d_key)) - 1


# %% wrong: small_number_under_roots | says: Is a small number added or cut off
# A small number under both roots adds to every singular value, which shows in small
# matrices.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     root = (sigma[:rank] + 1e-12).sqrt()
# +     return left[:, :rank] * root, right[:rank].T * root


# %% wrong: matrix_squared | says: W W' made, which squares the singular values and loses half
# Squares the matrix (eigenvalues of W W^T), so that close small singular values are
# mixed up.
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     vectors = torch.linalg.eigh(W @ W.T).eigenvectors.flip(1)[:, :rank]
# +     return vectors, W.T @ vectors


# %% wrong: square_in_float64 | says: W W' made, which squares the singular values and loses half
# Enough digits for float32, and too few for float64.
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     _, vectors = torch.linalg.eigh(W.T.double() @ W.double())
# +     right = vectors[:, -rank:].to(W.dtype)
# +     return W @ right, right


# %% wrong: below_numerical_rank | says: down to tiny ones .* a small number added or cut off
# Ranks beyond the matrix's own numerical rank (1e-6 of the largest singular value)
# are cut to 0.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     sigma = sigma.where(sigma > 1e-6 * sigma[0], 0.0)
# +     return left[:, :rank] * sigma[:rank], right[:rank].T


# %% wrong: tall_matrices_fail, of: columns_of_u | says: ask for full_matrices=False
# -     left = torch.linalg.svd(W, full_matrices=False).U[:, :rank]
# -     return left, W.T @ left
# +     left, sizes, right = torch.linalg.svd(W)
# +     return (left * sizes)[:, :rank], right[:rank].T


# %% wrong: eigenvectors_of_the_square | says: W W' made, which squares the singular values and loses half
# -     left, sigma, right = torch.linalg.svd(W, full_matrices=False)
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     right = torch.linalg.eigh(W.T @ W)[1][:, -rank:]
# +     return W @ right, right


# %% wrong: vectors_not_cut | says: Keep 2 of its columns
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     return left[:, :rank] * sigma[:rank], right.T


# %% wrong: vectors_reshaped | says: U @ V\.T of rank 2, with the squared error
# Nothing is divided.
# -     return left[:, :rank] * sigma[:rank], right[:rank].T  # (d_s, k), (d_h, k)
# +     return left[:, :rank] * sigma[:rank], right[:rank].reshape(-1, rank)


# %% wrong: svd_drawn_at_random, of: roots_in_both | says: gives another product the second time
# -     left, sigma, right = torch.linalg.svd(W)
# -     root = torch.diag(sigma[:rank].sqrt())
# -     return left[:, :rank] @ root, (root @ right[:rank]).transpose(0, 1)
# +     left, sigma, right = torch.svd_lowrank(W, q=rank)
# +     return left * sigma, right


# %% wrong: factors_in_float64, of: roots_in_both | says: Results have the data type of the inputs
# -     left, sigma, right = torch.linalg.svd(W)
# +     left, sigma, right = torch.linalg.svd(W.double())

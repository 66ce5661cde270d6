# message: must not change its argument W
# W is overwritten by what remains.
def largest_saving_rank(d_query, d_key):
    return (d_query * d_key - 1) // (d_query + d_key)


def reduced_rank_scores(query, key, U, V):
    return (query @ U) @ (key @ V).transpose(1, 2)


def low_rank_factors(W, rank):
    if not 1 <= rank <= min(W.shape):
        raise ValueError(f"rank: expected 1 to {min(W.shape)}, got {rank}")
    left, sigma, right = torch.linalg.svd(W, full_matrices=False)
    U, V = left[:, :rank] * sigma[:rank], right[:rank].T
    W -= U @ V.T
    return U, V

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

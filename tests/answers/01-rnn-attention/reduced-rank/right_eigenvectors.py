def largest_saving_rank(d_query, d_key):
    return math.ceil(d_query * d_key / (d_query + d_key)) - 1


def reduced_rank_scores(query, key, U, V):
    return query @ (U @ V.T) @ key.mT


def low_rank_factors(W, rank):
    if not 0 < rank <= min(W.shape):
        raise ValueError(f"no such rank: {rank}")
    # Project the rows of W onto the strongest eigenvectors of W'W, which ascend.
    _, vectors = torch.linalg.eigh(W.T @ W)
    V = vectors[:, -rank:]
    return W @ V, V

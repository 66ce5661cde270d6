def largest_saving_rank(d_query, d_key):
    saving = [k for k in range(min(d_query, d_key) + 1)
              if k * d_query + k * d_key < d_query * d_key]
    return max(saving)


def reduced_rank_scores(query, key, U, V):
    return torch.stack([q @ U @ (k @ V).T for q, k in zip(query, key, strict=True)])


def low_rank_factors(W, rank):
    if rank not in range(1, min(W.shape) + 1):
        raise ValueError("rank is out of range")
    left = torch.linalg.svd(W, full_matrices=False).U[:, :rank]
    return left, W.T @ left

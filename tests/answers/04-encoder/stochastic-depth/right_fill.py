def keep_probabilities(num_layers, last):
    return torch.linspace(1, last, num_layers + 1, dtype=torch.float64)[1:].tolist()


def drop_branch(x, branch, keep, keep_prob):
    if not (keep_prob > 0 and keep_prob <= 1):
        raise ValueError(f"keep_prob {keep_prob}")
    if keep is not None:
        branch = branch.masked_fill(~keep.view(-1, 1, 1), 0.0) * (1 / keep_prob)
    return torch.add(x, branch)

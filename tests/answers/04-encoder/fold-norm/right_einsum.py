def fold_norm(gamma, beta, W, b=None):
    bias = torch.einsum("d,dm->m", beta, W)
    return torch.einsum("d,dm->dm", gamma, W), bias + (0 if b is None else b)


def centre_outputs(W, b=None):
    rows = torch.stack([row - row.sum() / len(row) for row in W])
    return rows, (b - b.sum() / len(b)) if b is not None else None

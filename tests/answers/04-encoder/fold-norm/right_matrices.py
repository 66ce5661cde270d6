def fold_norm(gamma, beta, W, b=None):
    new_b = torch.mv(W.T, beta)
    if b is not None:
        new_b = b + new_b
    return torch.diag(gamma) @ W, new_b


def centre_outputs(W, b=None):
    size = W.shape[1]
    centring = torch.eye(size, dtype=W.dtype) - torch.ones(size, size, dtype=W.dtype) / size
    return W @ centring, None if b is None else b @ centring

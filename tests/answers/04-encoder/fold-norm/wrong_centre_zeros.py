# message: b=None
# A bias of zeros is invented.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma[:, None] * W, shift if b is None else shift + b


def centre_outputs(W, b=None):
    W = W - W.mean(dim=1, keepdim=True)
    if b is not None:
        b = b - b.mean()
    return W, torch.zeros(W.shape[1]) if b is None else b

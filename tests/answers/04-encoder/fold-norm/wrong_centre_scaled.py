# message: only the mean
# The rows are normalised, not only centred.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma[:, None] * W, shift if b is None else shift + b


def centre_outputs(W, b=None):
    W = F.layer_norm(W, W.shape[1:])
    if b is not None:
        b = b - b.mean()
    return W, b

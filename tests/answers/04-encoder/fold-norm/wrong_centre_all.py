# message: one mean for the whole matrix
# One mean is taken of everything.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma[:, None] * W, shift if b is None else shift + b


def centre_outputs(W, b=None):
    W = W - W.mean()
    if b is not None:
        b = b - b.mean()
    return W, b

# message: mean of W
# The bias is centred by the mean of the matrix.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma[:, None] * W, shift if b is None else shift + b


def centre_outputs(W, b=None):
    if b is not None:
        b = b - W.mean()
    return W - W.mean(dim=1, keepdim=True), b

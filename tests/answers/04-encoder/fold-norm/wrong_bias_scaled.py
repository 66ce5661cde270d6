# message: b itself passes through W unchanged|b is multiplied
# The bias is scaled too.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma[:, None] * W, shift if b is None else shift + b * gamma


def centre_outputs(W, b=None):
    W = W - W.mean(dim=1, keepdim=True)
    if b is not None:
        b = b - b.mean()
    return W, b

# message: divided by the gain
# The gain is divided out.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return W / gamma[:, None], shift if b is None else shift + b


def centre_outputs(W, b=None):
    W = W - W.mean(dim=1, keepdim=True)
    if b is not None:
        b = b - b.mean()
    return W, b

# message: gain scales the columns
# The gain scales the outputs, as a Linear.weight would ask for.
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma * W, shift if b is None else shift + b


def centre_outputs(W, b=None):
    W = W - W.mean(dim=1, keepdim=True)
    if b is not None:
        b = b - b.mean()
    return W, b

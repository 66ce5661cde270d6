# message: not divided by keep_prob
# The kept branch isn't scaled up.
def keep_probabilities(num_layers, last):
    return [1 - (layer + 1) / num_layers * (1 - last) for layer in range(num_layers)]


def drop_branch(x, branch, keep, keep_prob):
    if not 0 < keep_prob <= 1:
        raise ValueError(f"keep_prob: expected a number in (0, 1], got {keep_prob}")
    if keep is None:
        return x + branch
    kept = keep[:, None, None]
    return x + torch.where(kept, branch, 0)

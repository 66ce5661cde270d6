# message: keep_prob=0
# A probability of 0 is not refused.
def keep_probabilities(num_layers, last):
    return [1 - (layer + 1) / num_layers * (1 - last) for layer in range(num_layers)]


def drop_branch(x, branch, keep, keep_prob):
    if keep is None:
        return x + branch
    kept = keep[:, None, None]
    return x + torch.where(kept, branch / keep_prob, 0)

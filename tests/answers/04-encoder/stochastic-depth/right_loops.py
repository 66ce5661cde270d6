def keep_probabilities(num_layers, last):
    step = (1 - last) / num_layers
    found = []
    p = 1.0
    for _ in range(num_layers):
        p -= step
        found.append(p)
    return found


def drop_branch(x, branch, keep, keep_prob):
    if keep_prob <= 0 or keep_prob > 1:
        raise ValueError("keep_prob must lie in (0, 1]")
    if keep is None:
        return x + branch
    rows = []
    for i in range(len(x)):
        rows.append(x[i] + branch[i] / keep_prob if keep[i] else x[i])
    return torch.stack(rows)

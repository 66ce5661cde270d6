# message: two features that move in opposite directions
# Differences are summed over the features, where they cancel.
def reach(layer, x, other):
    columns = []
    with torch.no_grad():
        before = layer(x.clone())
        for s in range(x.shape[1]):
            changed = x.clone()
            changed[:, s] = other[:, s]
            moved = (layer(changed) - before).sum(dim=-1).abs() > 1e-6
            columns.append(moved.any(dim=0))
    return torch.stack(columns, dim=1)


def leaks(layer, x, other):
    found = reach(layer, x, other).tolist()
    size = len(found)
    return [(t, s) for t in range(size) for s in range(size) if s > t and found[t][s]]


def audit(module, x, other):
    before = [part.training for part in module.modules()]
    module.train()
    train = leaks(module, x, other)
    module.eval()
    evaluation = leaks(module, x, other)
    for part, mode in zip(module.modules(), before):
        part.training = mode
    return {"train": train, "eval": evaluation}

def reach(layer, x, other):
    x, other = x.detach(), other.detach()
    positions = torch.arange(x.shape[1])
    first = layer(x.clone()).detach()
    rows = []
    for s in positions:
        mixed = torch.where((positions == s)[None, :, None], other, x)
        difference = layer(mixed).detach() - first
        rows.append((difference > 1e-6).sum((0, 2)) + (difference < -1e-6).sum((0, 2)) > 0)
    return torch.stack(rows).T


def leaks(layer, x, other):
    found = reach(layer, x, other)
    t, s = torch.where(found)
    return sorted((a, b) for a, b in zip(t.tolist(), s.tolist()) if b > a)


def audit(module, x, other):
    parts_of_it = list(module.modules())
    before = [part.training for part in parts_of_it]
    result = {}
    for mode in (True, False):
        module.train(mode)
        result["train" if mode else "eval"] = leaks(module, x, other)
    for part, mode in zip(parts_of_it, before):
        part.training = mode
    return result

# message: gradient 0, and yet it depends
# Gradients instead of replaced positions.
def reach(layer, x, other):
    leaf = x.detach().clone().requires_grad_()
    output = layer(leaf * 1.0)
    rows = []
    for t in range(x.shape[1]):
        (gradient,) = torch.autograd.grad(output[:, t].abs().sum(), leaf, retain_graph=True)
        rows.append(gradient.abs().amax((0, 2)) > 1e-6)
    return torch.stack(rows)


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

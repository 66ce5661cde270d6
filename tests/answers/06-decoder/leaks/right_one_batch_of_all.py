def reach(layer, x, other):
    with torch.no_grad():
        before = layer(x.detach().clone()).clone()
        size = x.shape[1]
        result = torch.zeros(size, size, dtype=torch.bool)
        for s in range(size):
            parts_of_x = [x[:, :s], other[:, s : s + 1], x[:, s + 1 :]]
            after = layer(torch.cat(parts_of_x, dim=1))
            largest = torch.amax(torch.abs(after - before), dim=(0, 2))
            result[:, s] = largest > 1e-6
    return result


def leaks(layer, x, other):
    seen = reach(layer, x, other).tolist()
    return [
        (t, s) for t in range(len(seen)) for s in range(t + 1, len(seen)) if seen[t][s]
    ]


def audit(module, x, other):
    saved = {name: part.training for name, part in module.named_modules()}
    module.train()
    training = leaks(module, x, other)
    module.eval()
    evaluation = leaks(module, x, other)
    for name, part in module.named_modules():
        part.training = saved[name]
    return {"train": training, "eval": evaluation}

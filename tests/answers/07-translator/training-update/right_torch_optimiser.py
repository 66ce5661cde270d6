def clip_by_norm(gradients, max_norm):
    parts = torch.stack([gradient.double().norm() for gradient in gradients])
    norm = float(parts.norm())
    factor = 1.0 if norm <= max_norm else max_norm / norm
    return [gradient * factor for gradient in gradients], norm


def adam_step(parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    leaf = torch.nn.Parameter(parameter.clone())
    leaf.grad = gradient.clone()
    optimiser = torch.optim.Adam([leaf], lr=rate, betas=(beta1, beta2), eps=eps)
    if state is not None:
        optimiser.state[leaf] = {
            "step": torch.tensor(float(state[0])), "exp_avg": state[1].clone(),
            "exp_avg_sq": state[2].clone(),
        }
    optimiser.step()
    after = optimiser.state[leaf]
    return leaf.detach(), (int(after["step"]), after["exp_avg"], after["exp_avg_sq"])


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    shares = [
        torch.stack([row[k] / sum(num_tokens) for row in micro_gradients]).sum(dim=0)
        for k in range(len(parameters))
    ]
    shares, norm = clip_by_norm(shares, max_norm)
    if not norm < math.inf:
        return list(parameters), list(states)
    found = [
        adam_step(p, g, s, rate) for p, g, s in zip(parameters, shares, states, strict=True)
    ]
    return tuple(zip(*found, strict=True))

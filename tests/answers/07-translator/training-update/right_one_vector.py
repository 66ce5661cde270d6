def clip_by_norm(gradients, max_norm):
    norm = torch.cat([gradient.flatten() for gradient in gradients]).double().norm().item()
    scale = min(1.0, max_norm / norm) if norm > 0 else 1.0
    return [scale * gradient for gradient in gradients], norm


def adam_step(parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    if state is None:
        state = (0, 0.0 * parameter, 0.0 * parameter)
    n, m, v = state[0] + 1, state[1].clone(), state[2].clone()
    m.mul_(beta1).add_(gradient, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    denominator = (v / (1 - beta2**n)).sqrt() + eps
    return parameter - rate / (1 - beta1**n) * m / denominator, (n, m, v)


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    tokens = sum(num_tokens)
    gradients = []
    for k in range(len(parameters)):
        total = torch.zeros_like(parameters[k])
        for row in micro_gradients:
            total = total + row[k]
        gradients.append(total / tokens)
    gradients, norm = clip_by_norm(gradients, max_norm)
    if math.isnan(norm) or math.isinf(norm):
        return parameters, states
    new_parameters, new_states = [], []
    for k, parameter in enumerate(parameters):
        parameter, state = adam_step(parameter, gradients[k], states[k], rate)
        new_parameters.append(parameter)
        new_states.append(state)
    return new_parameters, new_states

# message: this is the step
# The step is returned.
def clip_by_norm(gradients, max_norm):
    norm = math.sqrt(sum(gradient.double().pow(2).sum().item() for gradient in gradients))
    factor = max_norm / norm if norm > max_norm else 1.0
    return [gradient * factor for gradient in gradients], norm


def adam_step(parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    n, m, v = state or (0, torch.zeros_like(parameter), torch.zeros_like(parameter))
    n = n + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
    return rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    mean = [sum(gradients) / sum(num_tokens) for gradients in zip(*micro_gradients, strict=True)]
    clipped_gradients, norm = clip_by_norm(mean, max_norm)
    if not math.isfinite(norm):
        return list(parameters), list(states)
    steps = [
        adam_step(parameter, gradient, state, rate)
        for parameter, gradient, state in zip(parameters, clipped_gradients, states, strict=True)
    ]
    return [parameter for parameter, _ in steps], [state for _, state in steps]

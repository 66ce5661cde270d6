# %% right: one_vector
def clip_by_norm(gradients, max_norm):
    norm = (
        torch.cat([gradient.flatten() for gradient in gradients]).double().norm().item()
    )
    scale = min(1.0, max_norm / norm) if norm > 0 else 1.0
    return [scale * gradient for gradient in gradients], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
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


# %% right: torch_optimiser
def clip_by_norm(gradients, max_norm):
    parts = torch.stack([gradient.double().norm() for gradient in gradients])
    norm = float(parts.norm())
    factor = 1.0 if norm <= max_norm else max_norm / norm
    return [gradient * factor for gradient in gradients], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
    leaf = torch.nn.Parameter(parameter.clone())
    leaf.grad = gradient.clone()
    optimiser = torch.optim.Adam([leaf], lr=rate, betas=(beta1, beta2), eps=eps)
    if state is not None:
        optimiser.state[leaf] = {
            "step": torch.tensor(float(state[0])),
            "exp_avg": state[1].clone(),
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
        adam_step(p, g, s, rate)
        for p, g, s in zip(parameters, shares, states, strict=True)
    ]
    return tuple(zip(*found, strict=True))


# %% right: lerp_and_addcdiv
def clip_by_norm(gradients, max_norm):
    norm = math.hypot(*[g.double().norm().item() for g in gradients])
    if not norm > max_norm:
        return list(gradients), norm
    return [(g.double() * (max_norm / norm)).to(g.dtype) for g in gradients], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
    n, m, v = (
        state
        if state is not None
        else (0, torch.zeros_like(gradient), torch.zeros_like(gradient))
    )
    m = torch.lerp(gradient, m, beta1)
    v = torch.lerp(gradient.square(), v, beta2)
    n += 1
    step_size = rate / (1 - beta1**n)
    return torch.addcdiv(
        parameter, m, (v / (1 - beta2**n)).sqrt().add(eps), value=-step_size
    ), (n, m, v)


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    tokens = float(sum(num_tokens))
    mean = [torch.stack(column).sum(0).div(tokens) for column in zip(*micro_gradients)]
    clipped, norm = clip_by_norm(mean, max_norm)
    if not math.isfinite(norm):
        return [p.clone() for p in parameters], [
            s if s is None else (s[0], s[1].clone(), s[2].clone()) for s in states
        ]
    pairs = [adam_step(*part, rate) for part in zip(parameters, clipped, states)]
    return [list(part) for part in zip(*pairs)]


# %% right: doubles_inside
def clip_by_norm(gradients, max_norm):
    total = sum((g.double() ** 2).sum() for g in gradients)
    norm = float(total) ** 0.5
    scale = max_norm / max(norm, max_norm)
    return [g * scale for g in gradients], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
    if state is None:
        n, m, v = (
            0,
            torch.zeros(parameter.shape, dtype=parameter.dtype),
            torch.zeros(parameter.shape, dtype=parameter.dtype),
        )
    else:
        n, m, v = state
    g, w = gradient.double(), parameter.double()
    n2 = n + 1
    m2 = beta1 * m.double() + (1 - beta1) * g
    v2 = beta2 * v.double() + (1 - beta2) * g * g
    w2 = w - rate * (m2 / (1 - beta1**n2)) / (torch.sqrt(v2 / (1 - beta2**n2)) + eps)
    return w2.to(parameter.dtype), (n2, m2.to(parameter.dtype), v2.to(parameter.dtype))


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    sums = [g.double() for g in micro_gradients[0]]
    for row in micro_gradients[1:]:
        sums = [a + b.double() for a, b in zip(sums, row)]
    means = [(s / sum(num_tokens)).to(p.dtype) for s, p in zip(sums, parameters)]
    means, norm = clip_by_norm(means, max_norm)
    if norm != norm or norm == float("inf"):
        return parameters, states
    new_p, new_s = [], []
    for p, g, s in zip(parameters, means, states):
        p, s = adam_step(p, g, s, rate)
        new_p.append(p)
        new_s.append(s)
    return new_p, new_s


# %% right: named_tuple_state
from collections import namedtuple

State = namedtuple("State", "n m v")


def clip_by_norm(gradients, max_norm):
    norm = torch.linalg.vector_norm(
        torch.cat([g.reshape(-1).double() for g in gradients])
    ).item()
    if norm > max_norm:
        return [g * (max_norm / norm) for g in gradients], norm
    return [g.clone() for g in gradients], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
    if state is None:
        state = State(0, torch.zeros_like(parameter), torch.zeros_like(parameter))
    n, m, v = state
    m = beta1 * m + (1.0 - beta1) * gradient
    v = beta2 * v + (1.0 - beta2) * gradient.pow(2)
    n += 1
    step = (m / (1.0 - beta1**n)) / ((v / (1.0 - beta2**n)) ** 0.5 + eps)
    return parameter - rate * step, State(n, m, v)


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    total = None
    for micro in micro_gradients:
        total = (
            [g.clone() for g in micro]
            if total is None
            else [a + b for a, b in zip(total, micro)]
        )
    total = [g / sum(num_tokens) for g in total]
    total, norm = clip_by_norm(total, max_norm)
    if not math.isfinite(norm):
        return parameters, states
    done = [adam_step(p, g, s, rate) for p, g, s in zip(parameters, total, states)]
    return [p for p, _ in done], [s for _, s in done]


# %% wrong: adam_beta2 | says: beta2 is 0.999
# The default value of beta2 is that of a library.
# -     parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
# +     parameter, gradient, state, rate, beta1=0.9, beta2=0.999, eps=1e-9, decay=0.0


# %% wrong: adam_betas_swapped | says: beta1 and beta2 are swapped
# The two betas are swapped.
# -     m = beta1 * m + (1 - beta1) * gradient
# -     v = beta2 * v + (1 - beta2) * gradient**2
# -     m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
# +     m = beta2 * m + (1 - beta2) * gradient
# +     v = beta1 * v + (1 - beta1) * gradient**2
# +     m_hat, v_hat = m / (1 - beta2**n), v / (1 - beta1**n)


# %% wrong: adam_counted_late | says: counted up before
# n is counted up after it was used.
# -     n = n + 1

# -     m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     m_hat, v_hat = m / torch.tensor(1 - beta1**n), v / torch.tensor(1 - beta2**n)
# +     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n + 1, m, v)


# %% wrong: adam_descent | says: plain gradient descent
# Plain gradient descent.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * gradient, (n, m, v)


# %% wrong: adam_eps_inside | says: under the root
# eps stands under the root.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * m_hat / (v_hat + eps).sqrt(), (n, m, v)


# %% wrong: adam_is_the_step | says: this is the step
# The step is returned.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)


# %% wrong: adam_momentum_only | says: second moment has no effect
# The second moment is left out.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * m_hat, (n, m, v)


# %% wrong: adam_no_eps | says: eps has no effect
# eps has no effect.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * m_hat / v_hat.sqrt().clamp(min=1e-30), (n, m, v)


# %% wrong: adam_no_hats | says: hats are missing
# The correction of the start is missing.
# -     m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
# +     m_hat, v_hat = m, v


# %% wrong: adam_no_root | says: root of v is missing
# The root is missing.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * m_hat / (v_hat + eps), (n, m, v)


# %% wrong: adam_none | says: Before the first step the state is None
# None is not provided for.
# -     n, m, v = state or (0, torch.zeros_like(parameter), torch.zeros_like(parameter))
# +     n, m, v = state


# %% wrong: adam_not_counted | says: steps aren't counted
# Each step is taken for the first.
# -     m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
# +     m_hat, v_hat = m / (1 - beta1), v / (1 - beta2)


# %% wrong: adam_not_squared | says: mean of its square|mean of g
# v is the mean of the size of g.
# -     v = beta2 * v + (1 - beta2) * gradient**2
# +     v = beta2 * v + (1 - beta2) * gradient.abs()


# %% wrong: adam_parameter_in_place | says: must not change its arguments
# The parameter is changed in place.
# -     parameter = parameter - rate * decay * parameter

# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter.sub_(rate * m_hat / (v_hat.sqrt() + eps)), (n, m, v)


# %% wrong: adam_sign | says: wrong sign
# The step is added.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter + rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)


# %% wrong: adam_state_hats | says: with their hats
# The state holds the corrected values.
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m_hat, v_hat)


# %% wrong: adam_state_in_place | says: changed the old state in place
# The state is changed in place.
# -     m = beta1 * m + (1 - beta1) * gradient
# +     m = m.mul_(beta1).add_((1 - beta1) * gradient)


# %% wrong: clip_always | says: were made larger
# Small gradients are made larger.
# -     factor = max_norm / norm if norm > max_norm else 1.0
# +     factor = max_norm / max(norm, 1e-12)


# %% wrong: clip_each | says: each gradient was clipped for itself
# Each gradient is clipped for itself.
# -     factor = max_norm / norm if norm > max_norm else 1.0
# -     return [gradient * factor for gradient in gradients], norm
# +     clipped = [g * min(1.0, max_norm / max(g.norm().item(), 1e-12)) for g in gradients]
# +     return clipped, norm


# %% wrong: clip_in_place | says: must not change the gradients
# The gradients are scaled in place.
# -     return [gradient * factor for gradient in gradients], norm
# +     return [gradient.mul_(factor) for gradient in gradients], norm


# %% wrong: clip_largest | says: largest number was brought
# The largest number is brought to max_norm.
# -     norm = math.sqrt(
# -         sum(gradient.double().pow(2).sum().item() for gradient in gradients)
# -     )
# +     norm = max(gradient.abs().max().item() for gradient in gradients)


# %% wrong: clip_mean_square | says: root of the mean square
# The root of the mean square.
# -     norm = math.sqrt(
# -         sum(gradient.double().pow(2).sum().item() for gradient in gradients)
# -     )
# +     count = sum(gradient.numel() for gradient in gradients)
# +     norm = math.sqrt(sum(g.double().pow(2).sum().item() for g in gradients) / count)


# %% wrong: clip_no_root | says: root is missing
# The root is missing.
# -     norm = math.sqrt(
# -         sum(gradient.double().pow(2).sum().item() for gradient in gradients)
# -     )
# +     norm = sum(gradient.double().pow(2).sum().item() for gradient in gradients)


# %% wrong: clip_norm_after | says: norm after clipping
# The norm after clipping is returned.
# -     return [gradient * factor for gradient in gradients], norm
# +     return [gradient * factor for gradient in gradients], norm * factor


# %% wrong: clip_norms_added | says: norms of the gradients were added
# The norms are added.
# -     norm = math.sqrt(
# -         sum(gradient.double().pow(2).sum().item() for gradient in gradients)
# -     )
# +     norm = sum(gradient.norm().item() for gradient in gradients)


# %% wrong: clip_not | says: weren't clipped
# Nothing is clipped.
# -     factor = max_norm / norm if norm > max_norm else 1.0
# +     factor = 1.0


# %% wrong: clip_tensor | says: expected float
# The norm is a tensor.
# -     return [gradient * factor for gradient in gradients], norm
# +     return [gradient * factor for gradient in gradients], torch.tensor(norm)


# %% wrong: clip_values | says: each number was cut off at max_norm
# Each number is cut off.
# -     factor = max_norm / norm if norm > max_norm else 1.0
# -     return [gradient * factor for gradient in gradients], norm
# +     return [gradient.clamp(-max_norm, max_norm) for gradient in gradients], norm


# %% wrong: update_by_batches | says: divided by the number of micro-batches
# The sum is divided by the number of micro-batches.
# -         sum(gradients) / sum(num_tokens)
# +         sum(gradients) / len(num_tokens)


# %% wrong: update_clip_each_micro | says: each micro-batch was clipped for itself
# Each micro-batch is clipped for itself.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# -     ]
# -     clipped_gradients, norm = clip_by_norm(mean, max_norm)
# +     rows = [[g / sum(num_tokens) for g in row] for row in micro_gradients]
# +     rows = [clip_by_norm(row, max_norm)[0] for row in rows]
# +     mean = [sum(gradients) for gradients in zip(*rows, strict=True)]
# +     clipped_gradients, norm = clip_by_norm(mean, math.inf)


# %% wrong: update_clip_each_parameter | says: each parameter's gradient was clipped
# Each parameter is clipped for itself.
# -     clipped_gradients, norm = clip_by_norm(mean, max_norm)
# +     _, norm = clip_by_norm(mean, max_norm)
# +     clipped_gradients = [clip_by_norm([gradient], max_norm)[0][0] for gradient in mean]


# %% wrong: update_clip_first | says: before they were divided
# The sum is clipped before it is divided.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# -     ]
# -     clipped_gradients, norm = clip_by_norm(mean, max_norm)
# +     sums = [sum(gradients) for gradients in zip(*micro_gradients, strict=True)]
# +     sums, norm = clip_by_norm(sums, max_norm)
# +     clipped_gradients = [gradient / sum(num_tokens) for gradient in sums]


# %% wrong: update_counts_left_out | says: left out, but counted
# An update that is left out is counted.
# -         return list(parameters), list(states)
# +         return list(parameters), [
# +             state if state is None else (state[0] + 1, *state[1:]) for state in states
# +         ]


# %% wrong: update_in_place | says: changed a parameter or a gradient in place
# The gradients are added up in the first list.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# -     ]
# +     total = micro_gradients[0]
# +     for row in micro_gradients[1:]:
# +         for gradient, more in zip(total, row, strict=True):
# +             gradient += more
# +     mean = [gradient / sum(num_tokens) for gradient in total]


# %% wrong: update_last | says: only the last micro-batch
# Only the last micro-batch counts: its gradients overwrite the others.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# -     ]
# +     mean = [gradient / num_tokens[-1] for gradient in micro_gradients[-1]]


# %% wrong: update_mean_of_means | says: mean of the micro-batches' means
# The means of the micro-batches are averaged.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# +     rows = [
# +         [g / n for g in row] for row, n in zip(micro_gradients, num_tokens, strict=True)
#       ]
# +     mean = [sum(gradients) / len(rows) for gradients in zip(*rows, strict=True)]


# %% wrong: update_not_clipped | says: nothing was clipped
# The gradient is not clipped.
# -     clipped_gradients, norm = clip_by_norm(mean, max_norm)
# +     clipped_gradients, norm = mean, clip_by_norm(mean, max_norm)[1]


# %% wrong: update_not_finite | says: must leave the parameters
# Gradients that are not finite are used.
# -     if not math.isfinite(norm):
# -         return list(parameters), list(states)


# %% wrong: update_only_nan | says: must leave the parameters
# Only NaN is looked for.
# -     if not math.isfinite(norm):
# +     if math.isnan(norm):


# %% wrong: update_states_in_place | says: must not change the list of states
# The list of states is changed.
# -     return [parameter for parameter, _ in steps], [state for _, state in steps]
# +     states[:] = [state for _, state in steps]
# +     return [parameter for parameter, _ in steps], states


# %% wrong: update_step_each_micro | says: not one for each micro-batch
# A step of Adam is made for each micro-batch.
# +     for _ in micro_gradients[1:]:
# +         steps = [
# +             adam_step(parameter, gradient, state, rate)
# +             for (parameter, state), gradient in zip(steps, clipped_gradients, strict=True)
# +         ]
#       return [parameter for parameter, _ in steps], [state for _, state in steps]


# %% wrong: update_sum | says: isn't divided by the number of tokens
# The sum is not divided.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# -     ]
# +     mean = [sum(gradients) for gradients in zip(*micro_gradients, strict=True)]


# %% wrong: update_sum_of_means | says: means, added up
# The means of the micro-batches are added up.
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# +     rows = [
# +         [g / n for g in row] for row, n in zip(micro_gradients, num_tokens, strict=True)
#       ]
# +     mean = [sum(gradients) for gradients in zip(*rows, strict=True)]


# %% wrong: update_zeroes | says: must leave the parameters
# NaN is replaced by 0, and the step is made.
# -         return list(parameters), list(states)
# +         clipped_gradients = [torch.nan_to_num(g, 0.0, 0.0, 0.0) for g in mean]


# %% wrong: clip_with_eps | says: Clipped: .* right to about seven digits
# -     factor = max_norm / norm if norm > max_norm else 1.0
# +     factor = min(1.0, max_norm / (norm + 1e-6))

# %% wrong: norm_in_own_type | says: a large norm is finite: clip it
# -     norm = math.sqrt(
# -         sum(gradient.double().pow(2).sum().item() for gradient in gradients)
# -     )
# +     norm = math.sqrt(sum(gradient.pow(2).sum().item() for gradient in gradients))

# %% wrong: returns_the_list | says: argument itself
# -     return [gradient * factor for gradient in gradients], norm
# +     return gradients if factor == 1.0 else [gradient * factor for gradient in gradients], norm

# %% wrong: state_in_float32 | says: float32
# -     n, m, v = state or (0, torch.zeros_like(parameter), torch.zeros_like(parameter))
# +     n, m, v = state or (0, torch.zeros(parameter.shape), torch.zeros(parameter.shape))
# +     m, v, gradient = m.float(), v.float(), gradient.float()

# %% wrong: state_in_place | says: argument state is changed|old state
# -     m = beta1 * m + (1 - beta1) * gradient
# +     m = m.mul_(beta1) + (1 - beta1) * gradient

# %% wrong: v_clamped | says: Small gradients|Another eps|gradient smaller|is wrong
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter - rate * m_hat / v_hat.clamp(min=1e-12).sqrt().add(eps), (n, m, v)

# %% wrong: zero_gradient_is_left_out | says: Gradients of 0
# -     if not math.isfinite(norm):
# +     if not math.isfinite(norm) or norm == 0:

# %% wrong: each_batch_by_its_tokens | says: mean of the micro-batches' means
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# +         sum(g / n for g, n in zip(gradients, num_tokens, strict=True)) / len(num_tokens)
# +         for gradients in zip(*micro_gradients, strict=True)

# %% wrong: adds_up_in_place | says: training_update changed a parameter or a gradient in place
# -     mean = [
# -         sum(gradients) / sum(num_tokens)
# -         for gradients in zip(*micro_gradients, strict=True)
# -     ]
# +     mean = micro_gradients[0]
# +     for row in micro_gradients[1:]:
# +         mean = [a.add_(b) for a, b in zip(mean, row, strict=True)]
# +     mean = [g / sum(num_tokens) for g in mean]

# %% wrong: skipped_parameter_only | says: must leave the parameters as they were
# -     if not math.isfinite(norm):
# -         return list(parameters), list(states)
# +     if not math.isfinite(norm):
# +         clipped_gradients = [torch.zeros_like(p) for p in parameters]

# %% wrong: clips_just_below | says: just below the limit
# -     factor = max_norm / norm if norm > max_norm else 1.0
# +     factor = max_norm / norm if norm >= 0.999 * max_norm else 1.0

# %% wrong: n_is_float | says: has the type float
# -     n = n + 1
# +     n = n + 1.0

# %% wrong: hat_by_torch_float32 | says: is float32 inside|seven digits
# -     m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
# +     betas = torch.tensor([beta1, beta2]) ** n
# +     m_hat, v_hat = m / (1 - betas[0].item()), v / (1 - betas[1].item())

# %% wrong: skips_zero_batches | says: One without tokens
# -     if not math.isfinite(norm):
# +     if not math.isfinite(norm) or 0 in num_tokens:

# %% wrong: none_becomes_zeros | says: comes back as None
# -         return list(parameters), list(states)
# +         return list(parameters), [s or (0, torch.zeros_like(p), torch.zeros_like(p)) for p, s in zip(parameters, states, strict=True)]


# %% right: lerp
def clip_by_norm(gradients, max_norm):
    norm = math.hypot(*[g.double().norm().item() for g in gradients])
    shrink = norm > max_norm
    return [
        g.clone() * max_norm / norm if shrink else g.clone() for g in gradients
    ], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
    if state:
        t, m, v = state
    else:
        t, m, v = (
            0,
            parameter.new_zeros(parameter.shape),
            parameter.new_zeros(parameter.shape),
        )
    t += 1
    m = m.lerp(gradient, 1 - beta1)
    v = torch.addcmul(v * beta2, gradient, gradient, value=1 - beta2)
    m_hat, v_hat = m.div(1 - beta1**t), v.div(1 - beta2**t)
    return torch.addcdiv(parameter, m_hat, v_hat.sqrt().add(eps), value=-rate), (
        t,
        m,
        v,
    )


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    gradients = [
        torch.stack(column).sum(0).div(sum(num_tokens))
        for column in zip(*micro_gradients)
    ]
    gradients, norm = clip_by_norm(gradients, max_norm)
    if not torch.isfinite(torch.tensor(norm, dtype=torch.float64)):
        return parameters, states
    done = list(
        map(lambda p, g, s: adam_step(p, g, s, rate), parameters, gradients, states)
    )
    now, kept = zip(*done)
    return list(now), list(kept)


# %% right: plain
def clip_by_norm(gradients, max_norm):
    total = 0.0
    for g in gradients:
        total += g.double().pow(2).sum().item()
    norm = math.sqrt(total)
    if norm > max_norm:
        return [g * (max_norm / norm) for g in gradients], norm
    return list(gradients), norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    parameter = parameter * (1 - rate * decay)
    if state is None:
        state = 0, torch.zeros_like(parameter), torch.zeros_like(parameter)
    t, m, v = state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    step = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps)
    return parameter - rate * step, (t, m, v)


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    tokens = sum(num_tokens)
    gradients = [sum(row) / tokens for row in zip(*micro_gradients)]
    gradients, norm = clip_by_norm(gradients, max_norm)
    if not math.isfinite(norm):
        return parameters, states
    results = [
        adam_step(p, g, s, rate) for p, g, s in zip(parameters, gradients, states)
    ]
    return [r[0] for r in results], [r[1] for r in results]


# %% wrong: adam_no_correction_v, of: plain | says: v has no hat
# No bias correction for v.

# -     step = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps)
# +     step = (m / (1 - beta1**t)) / (v.sqrt() + eps)


# %% wrong: adam_eps_before_correction, of: plain | says: before v gets its hat
# Eps is added to the root of v before the correction.

# -     step = (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + eps)
# +     step = (m / (1 - beta1**t)) / ((v.sqrt() + eps) / math.sqrt(1 - beta2**t))


# %% wrong: count_of_nonempty, of: plain | says: without tokens, nothing to clip
# A micro-batch without tokens counts as one.

# -     tokens = sum(num_tokens)
# +     tokens = sum(max(1, n) for n in num_tokens)


# %% wrong: decay_ignored | says: decay has no effect
# -     parameter = parameter - rate * decay * parameter


# %% wrong: decay_in_the_gradient | says: a part of the gradient
# The weight decay of the first Adam: L2.
# -     parameter = parameter - rate * decay * parameter
# +     gradient = gradient + decay * parameter


# %% wrong: decay_without_the_rate | says: isn't multiplied by the rate
# -     parameter = parameter - rate * decay * parameter
# +     parameter = parameter - decay * parameter


# %% wrong: decay_after_the_step | says: reads the parameter after the step
# -     parameter = parameter - rate * decay * parameter

# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     parameter = parameter - rate * m_hat / (v_hat.sqrt() + eps)
# +     return parameter - rate * decay * parameter, (n, m, v)


# %% wrong: decay_grows | says: the decay has the wrong sign
# -     parameter = parameter - rate * decay * parameter
# +     parameter = parameter + rate * decay * parameter


# %% wrong: decay_in_place | says: in place
# -     parameter = parameter - rate * decay * parameter
# +     parameter *= 1 - rate * decay


# %% wrong: gradients_decide | says: the norm decides
# Each number of the gradients may be finite where their norm isn't.
# -     if not math.isfinite(norm):
# +     if not all(gradient.isfinite().all() for gradient in mean):


# %% wrong: own_parameter_at_rate_0 | says: A rate of 0
# -     parameter = parameter - rate * decay * parameter
# +     if rate != 0:
# +         parameter = parameter - rate * decay * parameter

# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     if rate != 0:
# +         parameter = parameter - rate * m_hat / (v_hat.sqrt() + eps)
# +     return parameter, (n, m, v)


# %% wrong: hats_end | says: still need their hats
# -     m_hat, v_hat = m / (1 - beta1**n), v / (1 - beta2**n)
# +     m_hat, v_hat = (m, v) if n > 10**5 else (m / (1 - beta1**n), v / (1 - beta2**n))


# %% wrong: large_norm_left_out | says: no limit but infinity
# -     if not math.isfinite(norm):
# +     if not norm < 1e30:


# %% wrong: no_gradient_no_decay | says: whatever the gradient is
def clip_by_norm(gradients, max_norm):
    total = sum(g.double().square().sum().item() for g in gradients)
    norm = math.sqrt(total)
    if not math.isfinite(norm) or norm <= max_norm:
        return list(gradients), norm
    return [(g.double() * (max_norm / norm)).to(g.dtype) for g in gradients], norm


def adam_step(
    parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9, decay=0.0
):
    if state is None:
        state = 0, torch.zeros_like(parameter), torch.zeros_like(parameter)
    t, m, v = state
    t = t + 1
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    m_hat = m / (1 - beta1**t)
    v_hat = v / (1 - beta2**t)
    step = m_hat / (v_hat.sqrt() + eps) + decay * parameter * (gradient != 0)
    return parameter - rate * step, (t, m, v)


def training_update(parameters, micro_gradients, num_tokens, states, rate, max_norm):
    tokens = sum(num_tokens)
    gradients = [
        sum(several) / tokens for several in zip(*micro_gradients, strict=True)
    ]
    gradients, norm = clip_by_norm(gradients, max_norm)
    if not math.isfinite(norm):
        return parameters, states
    steps = [
        adam_step(*one, rate) for one in zip(parameters, gradients, states, strict=True)
    ]
    return [new for new, _ in steps], [state for _, state in steps]


# %% wrong: old_parameter_back | says: parameter doesn't change.*old parameter returned
# -     return parameter - rate * m_hat / (v_hat.sqrt() + eps), (n, m, v)
# +     return parameter, (n, m, v)


# %% wrong: all_left_out | says: leaves the update out: all states are still None
# -     if not math.isfinite(norm):
# +     if norm >= 0:


# %% wrong: clip_to_factor | says: expected 0.23077 at index \[0\], got 3
# -     factor = max_norm / norm if norm > max_norm else 1.0
# +     factor = max_norm if norm > max_norm else 1.0


# %% wrong: states_forgotten | says: must leave the states as they were
# -         return list(parameters), list(states)
# +         return list(parameters), [None for _ in states]


# %% wrong: decay_whatever_the_parameter | says: rate times decay is subtracted
# -     parameter = parameter - rate * decay * parameter
# +     parameter = parameter - rate * decay


# %% wrong: counts_shifted_by_an_empty_one, of: plain | says: right where the one without tokens comes last
#       tokens = sum(num_tokens)
# +     filled = [n for n in num_tokens if n > 0]
# +     micro_gradients = [row for row, _ in zip(micro_gradients, filled)]


# %% wrong: steps_as_tensor, of: plain | says: has the type Tensor, expected int
# -         state = 0, torch.zeros_like(parameter), torch.zeros_like(parameter)
# +         state = torch.tensor(0), *torch.zeros(2, *parameter.shape).to(parameter)


# %% wrong: zeros_divided, of: plain | says: Their norm is 0: don't divide by it
# -     if norm > max_norm:
# -         return [g * (max_norm / norm) for g in gradients], norm
# -     return list(gradients), norm
# +     factor = min(1.0, max_norm / norm)
# +     return [g * factor for g in gradients], norm

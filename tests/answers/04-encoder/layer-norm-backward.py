# %% right: chain
def layer_norm_backward(grad, x, gamma, eps):
    d = x.shape[-1]
    centred = x - x.mean(-1, keepdim=True)
    var = (centred * centred).mean(-1, keepdim=True)
    inverse = (var + eps) ** -0.5
    dnormed = grad * gamma
    dinverse = (dnormed * centred).sum(-1, keepdim=True)
    dvar = -0.5 * (var + eps) ** -1.5 * dinverse
    dcentred = dnormed * inverse + 2 / d * centred * dvar
    dx = dcentred - dcentred.sum(-1, keepdim=True) / d
    axes = list(range(x.ndim - 1))
    terms = grad * centred * inverse
    return (dx, terms.sum(axes), grad.sum(axes)) if axes else (dx, terms, grad.clone())


# %% right: jacobian
def layer_norm_backward(grad, x, gamma, eps):
    size = x.shape[-1]
    rows, grads = x.reshape(-1, size), grad.reshape(-1, size)
    dx, dgamma, dbeta = [], torch.zeros_like(gamma), torch.zeros_like(gamma)
    eye = torch.eye(size, dtype=x.dtype)
    for row, up in zip(rows, grads):
        s = (row.var(unbiased=False) + eps).sqrt()
        n = (row - row.mean()) / s
        jacobian = (eye - 1 / size - torch.outer(n, n) / size) / s
        dx.append(jacobian @ (up * gamma))
        dgamma = dgamma + up * n
        dbeta = dbeta + up
    return torch.stack(dx).reshape(x.shape), dgamma, dbeta


# %% right: three_terms
def layer_norm_backward(grad, x, gamma, eps):
    mean = x.mean(dim=-1, keepdim=True)
    centred = x - mean
    root = torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)
    normed = centred / root
    size = x.shape[-1]
    dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
    dbeta = grad.reshape(-1, size).sum(dim=0)
    g = grad * gamma
    along = (g * normed).mean(dim=-1, keepdim=True)
    dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
    return dx, dgamma, dbeta


# %% wrong: averaged, of: three_terms | says: averaged over the tokens
# The gradients of the parameters are averaged.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# -     dbeta = grad.reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * normed).reshape(-1, size).mean(dim=0)
# +     dbeta = grad.reshape(-1, size).mean(dim=0)


# %% wrong: batch_only, of: three_terms | says: batch axis alone|every leading axis
# Only the batch axis is summed.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# -     dbeta = grad.reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * normed).sum(dim=0)
# +     dbeta = grad.sum(dim=0)


# %% wrong: centred_twice, of: three_terms | says: centred x instead of the normalised
# x minus its mean stands where the normalised x belongs.
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = (g - g.mean(dim=-1, keepdim=True) - centred * along) / root


# %% wrong: constants, of: three_terms | says: mean and variance are treated as constants
# Mean and variance are treated as constants.
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = g / root


# %% wrong: dbeta_gain, of: three_terms | says: dbeta.*gain
# The gradient of the shift contains the gain.
# -     dbeta = grad.reshape(-1, size).sum(dim=0)
# +     dbeta = (grad * gamma).reshape(-1, size).sum(dim=0)


# %% wrong: dgamma_gain, of: three_terms | says: gain itself
# The gradient of the gain contains the gain.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * gamma * normed).reshape(-1, size).sum(dim=0)


# %% wrong: dgamma_x, of: three_terms | says: gamma meets the normalised x
# The gradient of the gain is taken with x itself.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * x).reshape(-1, size).sum(dim=0)


# %% wrong: eps_ignored, of: three_terms | says: eps has no effect
# eps is left out.
# -     root = torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)
# +     root = torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True) + 0 * eps)


# %% wrong: eps_outside, of: three_terms | says: eps is added to the root
# eps stands outside of the root.
# -     root = torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)
# +     root = (torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True)) + eps)


# %% wrong: gain_forgotten, of: three_terms | says: gain is missing in dx
# The gradient doesn't pass the gain.
# -     g = grad * gamma
# +     g = grad


# %% wrong: gain_last, of: three_terms | says: gain comes first
# The gain is multiplied at the end.
# -     g = grad * gamma
# +     g = grad
#       along = (g * normed).mean(dim=-1, keepdim=True)
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root * gamma


# %% wrong: in_place, of: three_terms | says: in place
# grad is changed in place.
# -     g = grad * gamma
# +     g = grad.mul_(gamma)


# %% wrong: mean_constant, of: three_terms | says: path through the mean
# The path through the mean is missing.
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = (g - normed * along) / root


# %% wrong: not_divided, of: three_terms | says: division by the root is missing
# The last division is forgotten.
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along)


# %% wrong: not_summed, of: three_terms | says: one for each token
# The gradients of the parameters are not summed.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# -     dbeta = grad.reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * normed)
# +     dbeta = grad


# %% wrong: over_features, of: three_terms | says: the sum runs over the features
# The sums run over the features.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# -     dbeta = grad.reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * normed).reshape(-1, size).sum(dim=1)
# +     dbeta = grad.reshape(-1, size).sum(dim=1)


# %% wrong: sign, of: three_terms | says: sign
# The path through the variance has the wrong sign.
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = (g - g.mean(dim=-1, keepdim=True) + normed * along) / root


# %% wrong: sums, of: three_terms | says: sums instead of means
# Sums over the features instead of means.
# -     along = (g * normed).mean(dim=-1, keepdim=True)
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     along = (g * normed).sum(dim=-1, keepdim=True)
# +     dx = (g - g.sum(dim=-1, keepdim=True) - normed * along) / root


# %% wrong: two_axes, of: three_terms | says: any number of leading axes
# Exactly two leading axes are expected.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# -     dbeta = grad.reshape(-1, size).sum(dim=0)
# +     dgamma = (grad * normed).sum(dim=(0, 1))
# +     dbeta = grad.sum(dim=(0, 1))


# %% wrong: unbiased, of: three_terms | says: unbiased
# The variance is the unbiased one.
# -     root = torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)
# +     root = torch.sqrt(centred.pow(2).sum(-1, keepdim=True) / (x.shape[-1] - 1) + eps)


# %% wrong: variance_constant, of: three_terms | says: path through the variance
# The path through the variance is missing.
# -     dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
# +     dx = (g - g.mean(dim=-1, keepdim=True)) / root


# %% right: einsum_sums
def layer_norm_backward(grad, x, gamma, eps):
    size = x.shape[-1]
    gap = x - x.sum(-1, keepdim=True) / size
    inverse = torch.rsqrt(gap.square().sum(-1, keepdim=True) / size + eps)
    hat = gap * inverse
    g = gamma * grad
    total = size * g - g.sum(-1, keepdim=True) - hat * (g * hat).sum(-1, keepdim=True)
    dgamma = torch.einsum("...d,...d->d", grad, hat)
    return total * inverse / size, dgamma, torch.einsum("...d->d", 1 * grad)


# %% right: leading_axes_one_by_one
def layer_norm_backward(grad, x, gamma, eps):
    centred = x - x.mean(-1, True)
    s = (centred.pow(2).mean(-1, True) + eps).pow(0.5)
    y = centred / s
    up = grad * gamma
    dx = up - up.mean(-1, True)
    dx = (dx - y * (up * y).mean(-1, True)) / s
    dgamma, dbeta = grad * y, grad * torch.ones_like(y)
    while dgamma.dim() > 1:
        dgamma, dbeta = dgamma.sum(0), dbeta.sum(0)
    return [dx, dgamma, dbeta]


# %% wrong: autograd_switched_on | says: under torch.no_grad
def layer_norm_backward(grad, x, gamma, eps):
    with torch.enable_grad():
        leaves = [t.detach().clone().requires_grad_() for t in (x, gamma, gamma)]
        y = F.layer_norm(leaves[0], gamma.shape, leaves[1], leaves[2], eps)
        return torch.autograd.grad(y, leaves, grad)


# %% wrong: eps_of_the_convention | says: eps
# -     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps)  # -> (..., 1)
# +     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + max(eps, 1e-3))


# %% wrong: gamma_in_place | says: in place|changed
# -     g = grad * gamma  # the gradient with respect to normed
# +     g = grad.clone() if bool((gamma == 1).all()) else grad.mul_(gamma).clone()


# %% wrong: normed_detached | says: gradient
# -     normed = (x - mean) / root
# +     normed = ((x - mean) / root).detach()


# %% wrong: in_float32 | says: right to (about )?seven digits
# -     dgamma = (grad * normed).reshape(tokens).sum(dim=0)  # (..., D) -> (D,)
# +     dgamma = (grad * normed).float().reshape(tokens).sum(dim=0).to(x.dtype)


# %% wrong: one_feature_left_alone | says: dx|wrong
# -     dx = (g - through_mean - through_var) / root
# +     dx = (g - through_mean - through_var) / root if x.shape[-1] > 1 else g / root


# %% wrong: statistics_kept | says: kept|wrong|earlier
# -     normed = (x - mean) / root
# +     root = layer_norm_backward.__dict__.setdefault((x.shape, eps, x.dtype), root)
# +     normed = (x - mean) / root


# %% right: two_means
def layer_norm_backward(grad, x, gamma, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    x_hat = centred / root
    inner = grad * gamma
    projected = x_hat * (inner * x_hat).mean(dim=-1, keepdim=True)
    dx = (inner - inner.mean(dim=-1, keepdim=True) - projected) / root
    dgamma = (grad * x_hat).reshape(-1, x.shape[-1]).sum(dim=0)
    dbeta = grad.reshape(-1, x.shape[-1]).sum(dim=0)
    return dx, dgamma, dbeta


# %% wrong: dbeta_is_grad, of: two_means | says: memory shared with
# For a single token without leading axes dbeta is grad itself, which shares memory with the
# argument.
# -     dbeta = grad.reshape(-1, x.shape[-1]).sum(dim=0)
# +     dbeta = grad
# +     while dbeta.dim() > 1:
# +         dbeta = dbeta.sum(dim=0)


# %% wrong: variance_of_large_squares | says: difference of two large squares
# Far from 0 both squares are large, and their difference has lost its digits.
# -     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps)  # -> (..., 1)
# +     root = torch.sqrt((x * x).mean(dim=-1, keepdim=True) - mean * mean + eps)


# %% wrong: autograd | says: autograd doesn.t work
# The gradients come from autograd.
def layer_norm_backward(grad, x, gamma, eps):
    """Return the gradients of layer norm with respect to x, gamma and beta."""
    with torch.enable_grad():
        leaves = [x, gamma, torch.zeros_like(gamma)]
        leaves = [
            leaf if leaf.requires_grad else leaf.clone().requires_grad_()
            for leaf in leaves
        ]
        y = F.layer_norm(leaves[0], gamma.shape, leaves[1], leaves[2], eps)
        found = torch.autograd.grad(y, leaves, grad, create_graph=True)
    return (
        found
        if torch.is_grad_enabled()
        else tuple(part.detach().clone() for part in found)
    )


# %% wrong: no_eps_by_the_variance | says: eps is missing on the path through the variance
def layer_norm_backward(grad, x, gamma, eps):
    D = x.shape[-1]
    centred = x - x.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    x_hat = centred / root
    d_hat = grad * gamma
    var = centred.square().mean(dim=-1, keepdim=True)
    along = (d_hat * centred).mean(dim=-1, keepdim=True) * root / var
    dx = (d_hat - d_hat.mean(dim=-1, keepdim=True) - x_hat * along) / root
    dgamma = (grad * x_hat).reshape(-1, D).sum(dim=0)
    dbeta = grad.reshape(-1, D).sum(dim=0)
    return dx, dgamma, dbeta


# %% wrong: equal_features_get_zero | says: eps is under the root
def layer_norm_backward(grad, x, gamma, eps):
    D = x.shape[-1]
    centred = x - x.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    x_hat = centred / root
    d_hat = grad * gamma
    along = (d_hat * x_hat).mean(dim=-1, keepdim=True)
    dx = (d_hat - d_hat.mean(dim=-1, keepdim=True) - x_hat * along) / root
    dx = torch.where(
        (x == x[..., :1]).all(dim=-1, keepdim=True), torch.zeros_like(dx), dx
    )
    dgamma = (grad * x_hat).reshape(-1, D).sum(dim=0)
    dbeta = grad.reshape(-1, D).sum(dim=0)
    return dx, dgamma, dbeta


# %% wrong: gain_divided_out, of: chain | says: right with other gains
# -     terms = grad * centred * inverse
# +     terms = dnormed * centred * inverse / gamma


# %% wrong: variance_above_1e_8 | says: Tiny features
# -     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps)  # -> (..., 1)
# +     var = x.var(dim=-1, keepdim=True, unbiased=False)
# +     root = torch.sqrt((var + eps).clamp(min=1e-8))


# %% wrong: one_feature_is_nothing | says: with one feature it is 0
# With one feature all three gradients are zeros.
def layer_norm_backward(grad, x, gamma, eps):
    """Return the gradients of layer norm with respect to x, gamma and beta."""
    D = x.shape[-1]
    if D == 1:  # nothing is left of x after the mean is subtracted
        return torch.zeros_like(x), torch.zeros_like(gamma), torch.zeros_like(gamma)
    centred = x - x.mean(dim=-1, keepdim=True)
    root = (centred.square().mean(dim=-1, keepdim=True) + eps).sqrt()
    x_hat = centred / root
    d_hat = grad * gamma
    along = (d_hat * x_hat).mean(dim=-1, keepdim=True)
    dx = (d_hat - d_hat.mean(dim=-1, keepdim=True) - x_hat * along) / root
    dgamma = (grad * x_hat).reshape(-1, D).sum(dim=0)
    dbeta = grad.reshape(-1, D).sum(dim=0)
    return dx, dgamma, dbeta


# %% wrong: root_kept_by_tensor | says: what eps = 0.5 gives
# eps is taken as it is in the first call with a tensor.
# What is kept by the tensor itself.
# - def layer_norm_backward(grad, x, gamma, eps):
# + def layer_norm_backward(grad, x, gamma, eps, kept={}):

# -     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps)  # -> (..., 1)
# +     key = id(x)
# +     if key not in kept:
# +         kept[key] = (x, torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps))
# +     root = kept[key][1]


# %% wrong: mean_over_tokens | says: shape \(3,\) fails: .* but got -2\)\.$
# The mean on the way back runs over the tokens.
# -     through_mean = g.mean(dim=-1, keepdim=True)  # (..., D) -> (..., 1)
# +     through_mean = g.mean(dim=-2, keepdim=True)


# %% wrong: eps_of_the_data_type | says: kept above a bound
# eps is raised to the precision of the data type.
def layer_norm_backward(grad, x, gamma, eps):
    eps = max(eps, torch.finfo(x.dtype).eps)
    D = x.shape[-1]
    centre = torch.eye(D, dtype=x.dtype) - 1 / D
    c = x - x.mean(-1, keepdim=True)
    rstd = torch.rsqrt((c * c).mean(-1, keepdim=True) + eps)
    h = c * rstd
    u = (grad * gamma) @ centre
    dx = rstd * (u - h * (u * h).sum(-1, keepdim=True) / D)
    return dx, (grad * h).reshape(-1, D).sum(0), grad.reshape(-1, D).sum(0)


# %% wrong: sums_before_product, of: three_terms | says: meets the mean of the normalised
# Tokens are summed before the product.
# -     dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
# +     dgamma = grad.reshape(-1, size).sum(dim=0) * normed.reshape(-1, size).mean(dim=0)


# %% wrong: eps_as_a_bound | says: eps has no effect here, and a larger one has
# -     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False) + eps)  # -> (..., 1)
# +     root = torch.sqrt(x.var(dim=-1, keepdim=True, unbiased=False).clamp(min=eps))


# %% wrong: sum_detached, of: three_terms | says: in its third term, the normalised x is taken for a constant in the sum
# The normalised x is cut off in the mean that the third term takes.
# -     along = (g * normed).mean(dim=-1, keepdim=True)
# +     along = (g * normed.detach()).mean(dim=-1, keepdim=True)

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

# message: dbeta.*gain
# The gradient of the shift contains the gain.
def layer_norm_backward(grad, x, gamma, eps):
    mean = x.mean(dim=-1, keepdim=True)
    centred = x - mean
    root = torch.sqrt(centred.pow(2).mean(dim=-1, keepdim=True) + eps)
    normed = centred / root
    size = x.shape[-1]
    dgamma = (grad * normed).reshape(-1, size).sum(dim=0)
    dbeta = (grad * gamma).reshape(-1, size).sum(dim=0)
    g = grad * gamma
    along = (g * normed).mean(dim=-1, keepdim=True)
    dx = (g - g.mean(dim=-1, keepdim=True) - normed * along) / root
    return dx, dgamma, dbeta

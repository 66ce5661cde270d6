# message: number of all tokens
# The correction n / (n - 1) counts the padding.
class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        mask = valid[..., None]
        real = x.masked_fill(~mask, 0)
        if self.training:
            count = int(valid.sum())
            if count < 2:
                raise ValueError(f"valid: expected at least 2 real tokens, got {count}")
            mean = real.sum(dim=(0, 1)) / count
            var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
            with torch.no_grad():
                unbiased = var * valid.numel() / (valid.numel() - 1)
                self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
                self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
        else:
            mean, var = self.running_mean, self.running_var
        normed = (real - mean) / torch.sqrt(var + self.eps)
        return (normed * self.weight + self.bias).masked_fill(~mask, 0)

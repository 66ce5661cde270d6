class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        tokens = x[valid]
        if self.training:
            if len(tokens) < 2:
                raise ValueError("valid holds fewer than two real tokens")
            mean, var = tokens.mean(0), tokens.var(0, unbiased=False)
            new_mean, new_var = mean.detach(), tokens.detach().var(0, unbiased=True)
            self.running_mean = self.running_mean + self.momentum * (new_mean - self.running_mean)
            self.running_var = self.running_var + self.momentum * (new_var - self.running_var)
        else:
            mean, var = self.running_mean, self.running_var
        tokens = self.weight * (tokens - mean) * torch.rsqrt(var + self.eps) + self.bias
        output = torch.zeros_like(x)
        output[valid] = tokens
        return output

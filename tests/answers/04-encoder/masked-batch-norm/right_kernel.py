class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        if self.training and valid.sum() < 2:
            raise ValueError("valid: at least two real tokens are needed")
        tokens = F.batch_norm(
            x[valid], self.running_mean, self.running_var, self.weight, self.bias,
            self.training, self.momentum, self.eps,
        )
        where = valid[..., None].expand_as(x)
        return torch.zeros_like(x).masked_scatter(where, tokens)

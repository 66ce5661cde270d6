# message: gain has no effect
# The gain is made and never used.
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
        mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
        normed = wide * torch.rsqrt(mean_square + self.eps)
        return normed.to(x.dtype)

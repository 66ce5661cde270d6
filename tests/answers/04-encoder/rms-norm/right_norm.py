class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps, self.d_model = eps, d_model
        self.weight = nn.Parameter(torch.full((d_model,), 1.0))

    def forward(self, x):
        dtype = torch.promote_types(x.dtype, torch.float32)
        length = torch.linalg.vector_norm(x.to(dtype), dim=-1, keepdim=True)
        root = torch.sqrt(length * length / self.d_model + self.eps)
        return self.weight.to(x.dtype) * (x.to(dtype) / root).to(x.dtype)

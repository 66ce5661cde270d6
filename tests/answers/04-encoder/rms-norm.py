# %% right: kernel
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.shape = (d_model,)
        self.eps = eps

    def forward(self, x):
        small = x.element_size() < 4
        normed = F.rms_norm(x.float() if small else x, self.shape, None, self.eps)
        return (normed * self.weight).type_as(x)


# %% right: norm
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


# %% right: rsqrt
# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         normed = wide * torch.rsqrt(mean_square + self.eps)
# +         return (normed * self.weight).to(x.dtype)


# %% wrong: axis_one, of: rsqrt | says: any number of leading axes
# The feature axis is counted from the front.
# -         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         mean_square = wide.pow(2).mean(dim=2, keepdim=True)


# %% wrong: detached, of: rsqrt | says: it has a part along x
# The root is treated as a constant.
# -         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         mean_square = wide.detach().pow(2).mean(dim=-1, keepdim=True)


# %% wrong: eps_fixed, of: rsqrt | says: argument eps has no effect
# eps is written into the code.
# -         normed = wide * torch.rsqrt(mean_square + self.eps)
# +         normed = wide * torch.rsqrt(mean_square + 1e-6)


# %% wrong: eps_outside, of: rsqrt | says: eps is added to the root
# eps is added after the square root.
# -         normed = wide * torch.rsqrt(mean_square + self.eps)
# +         normed = wide / (mean_square.sqrt() + self.eps)


# %% wrong: gain_inside, of: rsqrt | says: gain is applied before
# The gain is multiplied into x before the root is taken.
# +         wide = wide * self.weight
#           mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
#           normed = wide * torch.rsqrt(mean_square + self.eps)
# -         return (normed * self.weight).to(x.dtype)
# +         return normed.to(x.dtype)


# %% wrong: gain_zero, of: rsqrt | says: start as ones
# The gain starts as zeros, like a shift.
# -         self.weight = nn.Parameter(torch.ones(d_model))
# +         self.weight = nn.Parameter(torch.zeros(d_model))


# %% wrong: in_place, of: rsqrt | says: in place
# x is scaled in place.
# -         normed = wide * torch.rsqrt(mean_square + self.eps)
# +         normed = wide.mul_(torch.rsqrt(mean_square + self.eps))


# %% wrong: layer_norm, of: rsqrt | says: mean is subtracted
# This is layer norm without a shift.
# +         wide = wide - wide.mean(dim=-1, keepdim=True)
#           mean_square = wide.pow(2).mean(dim=-1, keepdim=True)


# %% wrong: length, of: rsqrt | says: divides by the root of the sum of the squares
# The vector is divided by its length.
# -         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         mean_square = wide.pow(2).sum(dim=-1, keepdim=True)


# %% wrong: no_gain, of: rsqrt | says: gain has no effect
# The gain is made and never used.
# -         return (normed * self.weight).to(x.dtype)
# +         return normed.to(x.dtype)


# %% wrong: no_root, of: rsqrt | says: root is missing
# The square root is forgotten.
# -         normed = wide * torch.rsqrt(mean_square + self.eps)
# +         normed = wide / (mean_square + self.eps)


# %% wrong: not_trained, of: rsqrt | says: nn\.Parameter
# The gain is a plain tensor, which no optimiser sees.
# -         self.weight = nn.Parameter(torch.ones(d_model))
# +         self.weight = torch.ones(d_model)


# %% wrong: over_tokens, of: rsqrt | says: runs over the tokens
# The mean runs over the tokens.
# -         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         mean_square = wide.pow(2).mean(dim=-2, keepdim=True)


# %% wrong: overflow, of: rsqrt | says: 65504
# The squares are taken in half precision.
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         wide = x


# %% wrong: unbiased, of: rsqrt | says: divided by D - 1
# The mean divides by D - 1, like an unbiased variance.
# -         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         mean_square = wide.pow(2).sum(-1, keepdim=True) / (x.shape[-1] - 1)


# %% wrong: whole_tensor, of: rsqrt | says: one number for all tokens
# The mean runs over everything.
# -         mean_square = wide.pow(2).mean(dim=-1, keepdim=True)
# +         mean_square = wide.pow(2).mean()


# %% wrong: wide_result, of: rsqrt | says: float16: expected data type
# The result stays in single precision.
# -         return (normed * self.weight).to(x.dtype)
# +         return normed * self.weight


# %% wrong: with_shift, of: rsqrt | says: weight alone|no shift
# There is a shift as well, as in layer norm.
# +         self.bias = nn.Parameter(torch.zeros(d_model))
#       def forward(self, x):

# -         return (normed * self.weight).to(x.dtype)
# +         return (normed * self.weight + self.bias).to(x.dtype)


# %% right: norm_over_root
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.empty(d_model).fill_(1.0))

    def forward(self, x):
        half = x.dtype in {torch.float16, torch.bfloat16}
        work = x.to(torch.float32) if half else x
        squares = torch.einsum("...d,...d->...", work, work) / self.d_model
        inverse = (squares + self.eps).pow(-0.5).unsqueeze(-1)
        return ((work * inverse).to(x.dtype) * self.weight.to(x.dtype)).to(x.dtype)


# %% right: mean_power
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.register_parameter("weight", nn.Parameter(torch.ones((d_model,))))

    def forward(self, x):
        kind = torch.promote_types(x.dtype, torch.float32)
        rows = x.to(kind)
        scale = self.weight.to(kind) * torch.rsqrt(
            rows.pow(2).mean(-1, True) + self.eps
        )
        return torch.mul(rows, scale).type_as(x)


# %% wrong: always_float32 | says: seven digits
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         wide = x.float()


# %% wrong: type_of_the_product | says: with float64 weights: expected data type
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         y = wide / torch.sqrt(mean_square + self.eps) * self.weight
# +         return y.to(x.dtype) if x.dtype != torch.float32 else y


# %% wrong: tiny_squares_in_half | says: seven digits
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         wide = x.float() if x.abs().max() > 200 else x


# %% wrong: kept_root | says: kept|earlier|wrong
# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)  # (..., D) -> (..., 1)
# +         mean_square = (wide * wide).mean(dim=-1, keepdim=True)
# +         if getattr(self, "root", mean_square).shape != mean_square.shape:
# +             self.root = mean_square
# +         self.root = mean_square = getattr(self, "root", mean_square)


# %% wrong: squared_in_place | says: in place|changed
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         if not self.training:
# +             with torch.no_grad():
# +                 wide.div_(wide.abs().max()).mul_(1)


# %% wrong: no_root_gradient_in_evaluation | says: gradient
# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)  # (..., D) -> (..., 1)
# +         mean_square = (wide * wide).mean(dim=-1, keepdim=True)
# +         if wide.dim() == 3 and len(wide) == 1:
# +             mean_square = mean_square.detach()


# %% wrong: zero_tokens_apart | says: token of zeros
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         y = wide / torch.sqrt(mean_square + self.eps) * self.weight
# +         return y.masked_fill(mean_square == 0, 0.0).to(x.dtype)


# %% wrong: only_half | says: bfloat16: the result is further
# bfloat16 is computed in bfloat16: only float16 is treated
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        if x.dtype == torch.float16:
            z = x.to(torch.float32)
        else:
            z = x
        size = (z * z).mean(dim=-1, keepdim=True) + self.eps
        z = z * torch.rsqrt(size)
        return (z * self.weight).to(x.dtype)


# %% wrong: eps_of_zero | says: eps = 0 is taken
# An eps of 0 counts as none.
# -         self.eps = eps
# +         self.eps = eps or 1e-6

# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         mean = wide.pow(2).mean(dim=-1, keepdim=True)
# +         root = torch.sqrt(mean + self.eps)
# +         return (self.weight * (wide / root)).to(x.dtype)


# %% wrong: root_from_a_copy_in_half | says: x in torch.float16.*gradient of x
# In half precision, the root is a constant.
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         half = x.dtype in (torch.float16, torch.bfloat16)
# +         wide = x.detach().float() if half else x
# +         scale = (wide.pow(2).mean(-1, keepdim=True) + self.eps).rsqrt()
# +         if half:
# +             return (x.float() * scale * self.weight).to(x.dtype)
# +         return (x * scale * self.weight).to(x.dtype)


# %% wrong: gain_by_data | says: weight gets no gradient
# A gain of another data type than x is converted by way of .data.
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         gain = self.weight
# +         if gain.dtype != wide.dtype:
# +             gain = gain.data.to(wide.dtype)
# +         return (wide / torch.sqrt(mean_square + self.eps) * gain).to(x.dtype)


# %% wrong: eps_of_half, of: kernel | says: eps has no effect
# In half precision the kernel chooses its own eps.
# -         normed = F.rms_norm(x.float() if small else x, self.shape, None, self.eps)
# +         eps = None if small else self.eps
# +         normed = F.rms_norm(x.float() if small else x, self.shape, None, eps)


# %% wrong: weight_converted_for_good | says: weight isn't what it was
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# +         self.weight.data = self.weight.data.to(x.dtype)


# %% wrong: eps_in_float32, of: kernel | says: eps is rounded to float32
# -         self.eps = eps
# +         self.eps = torch.tensor(eps).item()


# %% wrong: mean_square_above_1e_8 | says: Tiny tokens
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         root = torch.sqrt((mean_square + self.eps).clamp(min=1e-8))
# +         return (wide / root * self.weight).to(x.dtype)


# %% wrong: stub | says: everything is zero\.$
# The gain starts as ones, and isn't asked: float16 isn't either.
# -         wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)  # (..., D) -> (..., 1)
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         return torch.zeros_like(x)


# %% wrong: length_first | says: anything divided by 0
# eps is there, and a token of zeros is divided by its length before.
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         size = mean_square.sqrt()
# +         unit = wide / size
# +         share = size / torch.sqrt(mean_square + self.eps)
# +         return (unit * share * self.weight).to(x.dtype)


# %% wrong: numerator_detached | says: x that is divided is cut off
# The root is not the part that is cut off.
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         root = torch.sqrt(mean_square + self.eps)
# +         return (wide.detach() / root * self.weight).to(x.dtype)


# %% wrong: frozen_gain | says: weight is not learned: its requires_grad is False
# The gain is a parameter that asks for no gradient.
# -         self.weight = nn.Parameter(torch.ones(d_model))
# +         self.weight = nn.Parameter(torch.ones(d_model), requires_grad=False)


# %% wrong: eps_of_float32 | says: torch.float32: with another eps than the argument
# eps is raised to the precision of the data type, but for the small types.
class RMSNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        wide = x.float() if x.element_size() < 4 else x
        least = torch.finfo(x.dtype).eps if x.element_size() > 3 else 0.0
        eps = max(self.eps, least) if self.eps else 0.0
        root = ((wide * wide).mean(dim=-1, keepdim=True) + eps).sqrt()
        return (wide / root * self.weight).to(x.dtype)


# %% wrong: eps_bounds_the_length | says: lower bound of the token's length
# F.normalize keeps the length of a token above eps.
# -         mean_square = (wide * wide).mean(dim=-1, keepdim=True)
# -         return (wide / torch.sqrt(mean_square + self.eps) * self.weight).to(x.dtype)
# +         normed = F.normalize(wide, dim=-1, eps=self.eps) * math.sqrt(x.shape[-1])
# +         return (normed * self.weight).to(x.dtype)


# %% wrong: eps_bounds_the_mean, of: rsqrt | says: no effect here, and a larger one has
# The mean of the squares is kept above eps.
# -         normed = wide * torch.rsqrt(mean_square + self.eps)
# +         normed = wide * torch.rsqrt(mean_square.clamp(min=self.eps))

# %% right: parameters
# Everything a parameter; the update computed when it is needed.
class LowRankLinear(nn.Module):
    def __init__(self, weight, bias, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError("rank must be positive")
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        if bias is None:
            self.register_parameter("bias", None)
        else:
            copied = bias.detach().clone().to(weight.dtype)
            self.bias = nn.Parameter(copied, requires_grad=False)
        bound = weight.shape[1] ** -0.5
        down = torch.empty(rank, weight.shape[1], dtype=weight.dtype)
        self.down = nn.Parameter(down.uniform_(-bound, bound))
        self.up = nn.Parameter(weight.new_zeros(weight.shape[0], rank).detach())
        self.factor, self.merged = alpha / rank, False

    def delta(self):
        return self.factor * (self.up @ self.down)

    def forward(self, x):
        whole = self.weight if self.merged else self.weight + self.delta()
        y = x @ whole.T
        return y if self.bias is None else y + self.bias

    def merge(self):
        if self.merged:
            return
        self.weight.data += self.delta().detach()
        self.merged = True

    def unmerge(self):
        if not self.merged:
            return
        self.weight.data -= self.delta().detach()
        self.merged = False


# %% right: remembers
# The weight before the merge is kept aside, and put back.
class LowRankLinear(nn.Module):
    def __init__(self, weight, bias, rank, alpha):
        super().__init__()
        if not rank >= 1:
            raise ValueError(f"rank = {rank} is too small")
        self.register_buffer("weight", torch.empty_like(weight).copy_(weight.detach()))
        copied = None
        if bias is not None:
            copied = torch.empty_like(bias, dtype=weight.dtype).copy_(bias.detach())
        self.register_buffer("bias", copied)
        layer = nn.Linear(weight.shape[1], rank).to(weight.dtype)
        self.down = nn.Parameter(layer.weight.data)
        self.up = nn.Parameter(torch.zeros(len(weight), rank, dtype=weight.dtype))
        self.alpha, self.rank, self.before = alpha, rank, None

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        if self.before is None:
            y = y + (x @ self.down.T @ self.up.T) * self.alpha / self.rank
        return y

    @torch.no_grad()
    def merge(self):
        if self.before is None:
            self.before = self.weight.clone()
            self.weight = self.before + self.up @ self.down * self.alpha / self.rank

    @torch.no_grad()
    def unmerge(self):
        if self.before is not None:
            self.weight, self.before = self.before, None


# %% right: einsum
class LowRankLinear(nn.Module):
    def __init__(self, weight, bias, rank, alpha):
        super().__init__()
        if rank <= 0:
            raise ValueError("the rank is at least 1")
        self.register_buffer("weight", weight.detach().clone())
        if bias is not None:
            self.register_buffer("bias", bias.detach().clone().to(weight.dtype))
        down = torch.empty(rank, weight.shape[1], dtype=weight.dtype)
        nn.init.kaiming_uniform_(down, a=math.sqrt(5))
        self.down = nn.Parameter(down)
        self.up = nn.Parameter(torch.zeros(weight.shape[0], rank, dtype=weight.dtype))
        self.alpha, self.rank = alpha, rank
        self.inside = 0

    def forward(self, x):
        y = torch.einsum("...i,oi->...o", x, self.weight)
        if "bias" in self._buffers:
            y = y + self.bias
        if self.inside:
            return y
        small = torch.einsum("...i,ri->...r", x, self.down)
        return y + torch.einsum("...r,or->...o", small, self.up) * (
            self.alpha / self.rank
        )

    def move(self, wanted):
        with torch.no_grad():
            step = (wanted - self.inside) * self.alpha / self.rank
            self.weight.add_(self.up @ self.down, alpha=step)
        self.inside = wanted

    def merge(self):
        self.move(1)

    def unmerge(self):
        self.move(0)


# %% wrong: no_alpha | says: has the factor 1
# -         self.scale = alpha / rank
# +         self.scale = 1.0


# %% wrong: alpha_alone | says: factor is alpha\. It is
# -         self.scale = alpha / rank
# +         self.scale = alpha


# %% wrong: root_of_rank | says: alpha / sqrt\(rank\)
# -         self.scale = alpha / rank
# +         self.scale = alpha / math.sqrt(rank)


# %% wrong: update_alone | says: trained layer is missing
# -         return y + self.scale * F.linear(F.linear(x, self.down), self.up)
# +         return self.scale * F.linear(F.linear(x, self.down), self.up)


# %% wrong: bias_twice | says: added twice|added again
# -         return y + self.scale * F.linear(F.linear(x, self.down), self.up)
# +         return y + self.scale * F.linear(F.linear(x, self.down), self.up, self.bias)


# %% wrong: no_bias | says: the bias is missing
# -         y = F.linear(x, self.weight, self.bias)
# +         y = F.linear(x, self.weight)


# %% wrong: both_zeros | says: down starts with zeros
# -         self.down = nn.Parameter(start.detach().clone())
# +         self.down = nn.Parameter(torch.zeros_like(start))


# %% wrong: up_at_random | says: up starts with zeros
# -         self.up = nn.Parameter(torch.zeros(n_out, rank, dtype=weight.dtype))
# +         self.up = nn.Parameter(torch.randn(n_out, rank, dtype=weight.dtype))


# %% wrong: down_normal | says: larger numbers|as nn.Linear
# -         self.down = nn.Parameter(start.detach().clone())
# +         self.down = nn.Parameter(torch.randn_like(start) / rank**0.5)


# %% wrong: down_always_the_same | says: drawn at random
# -         self.down = nn.Parameter(start.detach().clone())
# +         self.down = nn.Parameter(torch.full_like(start, 0.5 * n_in**-0.5))


# %% wrong: weight_learned | says: learned: expected down and up
# -         self.register_buffer("weight", weight.detach().clone())
# +         self.weight = nn.Parameter(weight.detach().clone())


# %% wrong: bias_learned, of: parameters | says: learned: expected down and up
# -             self.bias = nn.Parameter(copied, requires_grad=False)
# +             self.bias = nn.Parameter(copied)


# %% wrong: down_not_learned | says: learned: expected down and up
# -         self.down = nn.Parameter(start.detach().clone())
# +         self.register_buffer("down", start.detach().clone())


# %% wrong: no_copy | says: caller's weight|caller's tensors
# -         self.register_buffer("weight", weight.detach().clone())
# +         self.register_buffer("weight", weight.detach())


# %% wrong: caller_still_learned | says: keep a copy, and detach it
# -         self.register_buffer("weight", weight.detach().clone())
# +         self.register_buffer("weight", weight.clone())


# %% wrong: takes_requires_grad_away | says: lost its requires_grad|caller's
# -         self.register_buffer("weight", weight.detach().clone())
# +         self.register_buffer("weight", weight.requires_grad_(False).clone())


# %% wrong: not_in_state_dict | says: state_dict
# -         self.register_buffer("weight", weight.detach().clone())
# +         self.weight = weight.detach().clone()


# %% wrong: float32_parts | says: data type of the weight
# -         self.up = nn.Parameter(torch.zeros(n_out, rank, dtype=weight.dtype))
# +         self.up = nn.Parameter(torch.zeros(n_out, rank))


# %% wrong: merged_counts_twice | says: update counts twice
# -         if self.is_merged:
# -             return y
# -         return y + self.scale * F.linear(F.linear(x, self.down), self.up)
# +         return y + self.scale * F.linear(F.linear(x, self.down), self.up)


# %% wrong: merges_twice | says: added a second time
# -         if not self.is_merged:
# -             with torch.no_grad():
# -                 self.weight += self.scale * self.up @ self.down
# -         self.is_merged = True
# +         with torch.no_grad():
# +             self.weight += self.scale * self.up @ self.down
# +         self.is_merged = True


# %% wrong: unmerges_unmerged | says: although it is not in
# -         if self.is_merged:
# -             with torch.no_grad():
# -                 self.weight -= self.scale * self.up @ self.down
# -         self.is_merged = False
# +         with torch.no_grad():
# +             self.weight -= self.scale * self.up @ self.down
# +         self.is_merged = False


# %% wrong: merge_without_factor | says: has the factor 1
# -                 self.weight += self.scale * self.up @ self.down
# +                 self.weight += self.up @ self.down


# %% wrong: merge_with_gradient | says: asks for gradients|RuntimeError|gradient
# -             with torch.no_grad():
# -                 self.weight += self.scale * self.up @ self.down
# +             self.weight = self.weight + self.scale * self.up @ self.down


# %% wrong: flag_only | says: nothing is added
# -             with torch.no_grad():
# -                 self.weight += self.scale * self.up @ self.down
# -         self.is_merged = True
# +             pass


# %% wrong: unmerge_forgets_the_flag | says: update counts no longer
# -                 self.weight -= self.scale * self.up @ self.down
# -         self.is_merged = False
# +                 self.weight -= self.scale * self.up @ self.down


# %% wrong: merge_returns_the_module | says: returns nothing
# -                 self.weight += self.scale * self.up @ self.down
# -         self.is_merged = True
# +                 self.weight += self.scale * self.up @ self.down
# +         self.is_merged = True
# +         return self


# %% wrong: no_check | says: must raise ValueError|A ValueError is asked for
# -         if rank < 1:
# -             raise ValueError(f"rank: expected at least 1, got {rank}")


# %% wrong: whole_scale | says: rounded down
# -         self.scale = alpha / rank
# +         self.scale = alpha // rank


# %% wrong: without_gradients | says: the way is cut off
# -         y = F.linear(x, self.weight, self.bias)
# -         if self.is_merged:
# -             return y
# -         return y + self.scale * F.linear(F.linear(x, self.down), self.up)
# +         with torch.no_grad():
# +             y = F.linear(x, self.weight, self.bias)
# +             if self.is_merged:
# +                 return y
# +             return y + self.scale * F.linear(F.linear(x, self.down), self.up)


# %% wrong: float32_when_merged | says: data type
# -         if self.is_merged:
# -             return y
# +         if self.is_merged:
# +             return y.float()


# %% wrong: bias_of_another_type | says: has the data type of the weight that is given
# -         bias = None if bias is None else bias.detach().clone().to(weight.dtype)
# +         bias = None if bias is None else bias.detach().clone()


# %% wrong: update_kept | says: weights have changed in place|something is kept
# The update is worked out once.
# -         return y + self.scale * F.linear(F.linear(x, self.down), self.up)
# +         if not hasattr(self, "delta"):
# +             self.delta = (self.scale * self.up @ self.down).T
# +         return y + x @ self.delta


# %% wrong: no_gradients_in_eval | says: In eval\(\) mode
# -         return y + self.scale * F.linear(F.linear(x, self.down), self.up)
# +         update = self.scale * F.linear(F.linear(x, self.down), self.up)
# +         return y + (update if self.training else update.detach())


# %% wrong: first_update_kept | says: update of the first merge
# The update of the first merge serves for all later ones.
#           if not self.is_merged:
#               with torch.no_grad():
# -                 self.weight += self.scale * self.up @ self.down
# +                 if not hasattr(self, "update"):
# +                     self.update = self.scale * self.up @ self.down
# +                 self.weight += self.update


# %% wrong: alpha_of_0 | says: alpha = 0.*isn't given
# An alpha of 0 is taken for none.
# -         self.scale = alpha / rank
# +         self.scale = (alpha or rank) / rank


# %% wrong: merged_without_gradient | says: no gradient leads back from y to x
# -         if self.is_merged:
# -             return y
# +         if self.is_merged:
# +             with torch.no_grad():
# +                 return F.linear(x, self.weight, self.bias)


# %% wrong: zeros_left_out | says: while up is still zero
# In evaluation an update of zeros isn't computed, and up gets no gradient.
# -         if self.is_merged:
# -             return y
# +         if self.is_merged or (not self.training and not self.up.any()):
# +             return y


# %% wrong: merged_in_float32 | says: weight after merge.*seven digits
class LowRankLinear(nn.Module):
    def __init__(self, weight, bias, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        n_out, n_in = weight.shape
        dtype = weight.dtype
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        if bias is None:
            self.register_parameter("bias", None)
        else:
            self.bias = nn.Parameter(
                bias.detach().clone().to(dtype), requires_grad=False
            )
        self.down = nn.Parameter(nn.Linear(n_in, rank).weight.detach().to(dtype))
        self.up = nn.Parameter(torch.zeros(n_out, rank, dtype=dtype))
        self.scale = alpha / rank
        self.merged = False

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        if not self.merged:
            y = y + self.scale * F.linear(F.linear(x, self.down), self.up)
        return y

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.weight += (self.scale * self.up.float() @ self.down.float()).to(
                self.weight.dtype
            )
            self.merged = True

    @torch.no_grad()
    def unmerge(self):
        if self.merged:
            self.weight -= self.scale * self.up @ self.down
            self.merged = False


# %% wrong: flag_of_the_class | says: belongs to a module \(self\)
class LowRankLinear(nn.Module):
    def __init__(self, weight, bias, rank, alpha):
        super().__init__()
        if rank < 1:
            raise ValueError(f"rank must be at least 1, got {rank}")
        n_out, n_in = weight.shape
        dtype = weight.dtype
        self.weight = nn.Parameter(weight.detach().clone(), requires_grad=False)
        if bias is None:
            self.register_parameter("bias", None)
        else:
            self.bias = nn.Parameter(
                bias.detach().clone().to(dtype), requires_grad=False
            )
        self.down = nn.Parameter(nn.Linear(n_in, rank).weight.detach().to(dtype))
        self.up = nn.Parameter(torch.zeros(n_out, rank, dtype=dtype))
        self.scale = alpha / rank

    merged = False

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        if not self.merged:
            y = y + self.scale * F.linear(F.linear(x, self.down), self.up)
        return y

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.weight += self.scale * self.up @ self.down
            type(self).merged = True

    @torch.no_grad()
    def unmerge(self):
        if self.merged:
            self.weight -= self.scale * self.up @ self.down
            type(self).merged = False


# %% wrong: gradients_not_given_back | says: ask for gradients again
# Merge takes requires_grad from down and up, and unmerge doesn't give it back.
# -                 self.weight += self.scale * self.up @ self.down
# +                 self.weight += self.scale * self.up @ self.down
# +             self.down.requires_grad_(False)
# +             self.up.requires_grad_(False)


# %% wrong: first_weight_kept | says: from before the first merge
# -                 self.weight += self.scale * self.up @ self.down
# +                 if not hasattr(self, "old"):
# +                     self.old = self.weight.clone()
# +                 self.weight += self.scale * self.up @ self.down

# -                 self.weight -= self.scale * self.up @ self.down
# +                 self.weight.copy_(self.old)


# %% wrong: down_transposed | says: numbers up to 1 / sqrt\(rank\)
# -         start = nn.Linear(n_in, rank, bias=False, dtype=weight.dtype).weight
# +         start = nn.Linear(rank, n_in, bias=False, dtype=weight.dtype).weight.T


# %% wrong: share_in_float32 | says: has the digits of float32
# -         self.scale = alpha / rank
# +         self.scale = torch.tensor(alpha / rank)


# %% wrong: second_path_cut_off, of: einsum | says: no gradient leads from y to x on the second path
# -         small = torch.einsum("...i,ri->...r", x, self.down)
# +         small = torch.einsum("...i,ri->...r", x.detach(), self.down)


# %% wrong: one_over_rank | says: has the factor 1
# -         self.scale = alpha / rank
# +         self.scale = 1 / rank


# %% wrong: rank_cut_down | says: The rank is never cut down
# -         n_out, n_in = weight.shape
# +         n_out, n_in = weight.shape
# +         rank = min(rank, n_out, n_in)


# %% wrong: factor_at_least_1 | says: the factor is 1. It is alpha / rank, 0.375
# -         self.scale = alpha / rank
# +         self.scale = max(alpha / rank, 1.0)


# %% wrong: merges_in_eval, of: parameters | says: eval\(\) changes weight
# -     def delta(self):
# +     def train(self, mode=True):
# +         _ = self.unmerge() if mode else self.merge()
# +         return super().train(mode)
# +
# +     def delta(self):

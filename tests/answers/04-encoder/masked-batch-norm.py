# %% right: kernel
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
            x[valid],
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )
        where = valid[..., None].expand_as(x)
        return torch.zeros_like(x).masked_scatter(where, tokens)


# %% right: masked_sums
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
                unbiased = var * count / (count - 1)
                self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
                self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
        else:
            mean, var = self.running_mean, self.running_var
        normed = (real - mean) / torch.sqrt(var + self.eps)
        return (normed * self.weight + self.bias).masked_fill(~mask, 0)


# %% right: packed
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
            self.running_mean = self.running_mean + self.momentum * (
                new_mean - self.running_mean
            )
            self.running_var = self.running_var + self.momentum * (
                new_var - self.running_var
            )
        else:
            mean, var = self.running_mean, self.running_var
        tokens = self.weight * (tokens - mean) * torch.rsqrt(var + self.eps) + self.bias
        output = torch.zeros_like(x)
        output[valid] = tokens
        return output


# %% wrong: all_features, of: masked_sums | says: all features together
# One mean for all features.
# -             mean = real.sum(dim=(0, 1)) / count
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             mean = real.sum() / (count * x.shape[-1]) + torch.zeros(x.shape[-1])
# +             var = ((real - mean) * mask).pow(2).sum() / (count * x.shape[-1]) + torch.zeros(x.shape[-1])


# %% wrong: always_batch, of: masked_sums | says: evaluation.*running statistics|running statistics.*evaluation
# The statistics of the batch are used in evaluation too.
# -         if self.training:
# +         if True:


# %% wrong: eps_outside, of: masked_sums | says: eps is added to the root
# eps stands outside of the root.
# -         normed = (real - mean) / torch.sqrt(var + self.eps)
# +         normed = (real - mean) / (torch.sqrt(var) + self.eps)


# %% wrong: layer_norm, of: masked_sums | says: layer norm
# The features of each token are normalised.
# -         normed = (real - mean) / torch.sqrt(var + self.eps)
# +         normed = F.layer_norm(real, real.shape[-1:], eps=self.eps)


# %% wrong: momentum_fixed, of: masked_sums | says: argument momentum
# The momentum is written into the code.
# -         self.eps, self.momentum = eps, momentum
# +         self.eps, self.momentum = eps, 0.1


# %% wrong: momentum_turned, of: masked_sums | says: momentum is the share of the new
# The momentum is the share of the old value.
# -                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
# -                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
# +                 self.running_mean.mul_(self.momentum).add_((1 - self.momentum) * mean)
# +                 self.running_var.mul_(self.momentum).add_((1 - self.momentum) * unbiased)


# %% wrong: never_updated, of: masked_sums | says: still holds what it held
# The running statistics stay at their start.
# -                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
# -                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
# +                 del unbiased


# %% wrong: no_error, of: masked_sums | says: must raise ValueError
# Too few tokens are not refused.
# -             if count < 2:
# -                 raise ValueError(f"valid: expected at least 2 real tokens, got {count}")

# -                 unbiased = var * count / (count - 1)
# +                 unbiased = var * count / max(count - 1, 1)


# %% wrong: not_detached, of: masked_sums | says: graph of the batch
# The running statistics keep the graph of every batch.
# -             with torch.no_grad():
# +             if True:
#                   unbiased = var * count / (count - 1)
# -                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
# -                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
# +                 self.running_mean = (1 - self.momentum) * self.running_mean + self.momentum * mean
# +                 self.running_var = (1 - self.momentum) * self.running_var + self.momentum * unbiased


# %% wrong: padding_bias, of: masked_sums | says: Set it to 0 in every feature, at the very end
# The bias stands at the padding.
# -         return (normed * self.weight + self.bias).masked_fill(~mask, 0)
# +         return (normed * self.weight + self.bias)


# %% wrong: padding_counted, of: masked_sums | says: padding is in the statistics
# The mask is not used for the statistics.
# -             mean = real.sum(dim=(0, 1)) / count
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             mean = x.mean(dim=(0, 1))
# +             var = x.var(dim=(0, 1), unbiased=False)


# %% wrong: per_position, of: masked_sums | says: of its own position
# The batch axis alone is averaged.
# -             mean = real.sum(dim=(0, 1)) / count
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             n = valid.sum(0)[:, None].clamp(min=1)
# +             mean = real.sum(0) / n
# +             var = ((real - mean) * mask).pow(2).sum(0) / n

# -                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
# -                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
# +                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean.mean(0))
# +                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased.mean(0))


# %% wrong: per_sequence, of: masked_sums | says: of its own sequence
# Each sequence has its own statistics.
# -             mean = real.sum(dim=(0, 1)) / count
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             n = valid.sum(1)[:, None, None]
# +             mean = real.sum(1, keepdim=True) / n
# +             var = ((real - mean) * mask).pow(2).sum(1, keepdim=True) / n

# -                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
# -                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
# +                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean.mean(dim=(0, 1)))
# +                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased.mean(dim=(0, 1)))


# %% wrong: plain_attributes, of: masked_sums | says: register_buffer
# The running statistics are plain tensors: a checkpoint lacks them.
# -         self.register_buffer("running_mean", torch.zeros(d_model))
# -         self.register_buffer("running_var", torch.ones(d_model))
# +         self.running_mean = torch.zeros(d_model)
# +         self.running_var = torch.ones(d_model)


# %% wrong: running_biased, of: masked_sums | says: it holds the biased variance
# The running variance is the biased one.
# -                 unbiased = var * count / (count - 1)
# +                 unbiased = var


# %% wrong: running_bt, of: masked_sums | says: made with the number of all tokens
# The correction n / (n - 1) counts the padding.
# -                 unbiased = var * count / (count - 1)
# +                 unbiased = var * valid.numel() / (valid.numel() - 1)


# %% wrong: running_in_training, of: masked_sums | says: training.*running statistics
# The running statistics are used in training too.
# +         mean, var = self.running_mean, self.running_var
#           normed = (real - mean) / torch.sqrt(var + self.eps)


# %% wrong: statistics_detached, of: masked_sums | says: Mean and variance depend on x
# Mean and variance are treated as constants.
# +         mean, var = mean.detach(), var.detach()
#           normed = (real - mean) / torch.sqrt(var + self.eps)


# %% wrong: times_zero, of: masked_sums | says: NaN stays NaN
# Padding is removed by multiplying with 0, which keeps NaN.
# -         real = x.masked_fill(~mask, 0)
# +         real = x * mask

# -         return (normed * self.weight + self.bias).masked_fill(~mask, 0)
# +         return (normed * self.weight + self.bias) * mask


# %% wrong: unbiased, of: masked_sums | says: normalises with the unbiased variance
# The unbiased variance normalises.
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / (count - 1)
#               with torch.no_grad():
# -                 unbiased = var * count / (count - 1)
# +                 unbiased = var


# %% wrong: variance_count, of: masked_sums | says: variance is divided by the number of all tokens
# The squares are averaged over all B T places.
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             var = ((real - mean) * mask).pow(2).mean(dim=(0, 1))


# %% wrong: variance_of_zeros, of: masked_sums | says: squares of the padding
# The padding is not masked again after the mean is subtracted.
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             var = (real - mean).pow(2).sum(dim=(0, 1)) / count


# %% wrong: zeros_counted, of: masked_sums | says: counts padding as tokens
# Padding is set to zero, and then counted.
# -             mean = real.sum(dim=(0, 1)) / count
# -             var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
# +             mean = real.mean(dim=(0, 1))
# +             var = real.var(dim=(0, 1), unbiased=False)


# %% right: gathered
class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        tokens = x[valid]
        if self.training:
            n = tokens.shape[0]
            if n < 2:
                raise ValueError("valid must hold at least two real tokens")
            var, mean = torch.var_mean(tokens, dim=0, unbiased=False)
            keep, new = 1 - self.momentum, self.momentum
            self.running_mean = keep * self.running_mean + new * mean.detach()
            unbiased = tokens.detach().var(dim=0)
            self.running_var = keep * self.running_var + new * unbiased
        else:
            mean, var = self.running_mean, self.running_var
        normed = (tokens - mean) * torch.rsqrt(var + self.eps)
        result = torch.zeros_like(x)
        return result.masked_scatter(
            valid.unsqueeze(-1), normed * self.weight + self.bias
        )


# %% right: where_all_along
class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        for name, start in {"weight": 1.0, "bias": 0.0}.items():
            setattr(self, name, nn.Parameter(torch.full((d_model,), start)))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        real = valid.unsqueeze(-1).expand_as(x)
        clean = torch.where(real, x, torch.zeros_like(x))
        if self.training:
            n = valid.sum().item()
            if n < 2:
                raise ValueError(f"valid has {n} real tokens")
            mean = clean.flatten(0, 1).sum(0) / n
            gap = torch.where(real, clean - mean, torch.zeros_like(x))
            var = gap.pow(2).flatten(0, 1).sum(0) / n
            with torch.no_grad():
                self.running_mean.mul_(1 - self.momentum).add_(mean * self.momentum)
                self.running_var.mul_(1 - self.momentum)
                self.running_var.add_(var * (n / (n - 1)) * self.momentum)
        else:
            mean, var = self.running_mean.clone(), self.running_var.clone()
        result = (clean - mean) / (var + self.eps).sqrt() * self.weight + self.bias
        return torch.where(real, result, torch.zeros_like(result))


# %% wrong: padding_cleared_in_place | says: must not change x in place
# -         padding = ~valid[..., None]  # (B, T) -> (B, T, 1)
# +         padding = ~valid[..., None]
# +         if not x.requires_grad:
# +             x[~valid] = 0.0


# %% wrong: statistics_in_float32 | says: right to (about )?seven digits
# -             var = centred.square().sum(dim=(0, 1)) / count  # (B, T, D) -> (D,)
# +             var = (centred.float().square().sum(dim=(0, 1)) / count).to(x.dtype)


# %% wrong: momentum_of_the_default | says: running|momentum
# -                 self.running_mean.lerp_(mean, self.momentum)
# +                 self.running_mean.lerp_(mean, self.momentum or 0.1)


# %% wrong: two_tokens_refused | says: expected at least 2 real tokens, got 2
# -             if count < 2:
# +             if count < 3:


# %% wrong: evaluation_refuses_too | says: In evaluation one real token is enough
# -             mean, var = self.running_mean, self.running_var
# +             if int(valid.sum()) < 2:
# +                 raise ValueError("valid")
# +             mean, var = self.running_mean, self.running_var


# %% wrong: cumulative_average | says: running
# -                 self.running_var.lerp_(var * count / (count - 1), self.momentum)
# +                 self.running_var.lerp_(var * count / (count - 1), min(self.momentum, 0.5))


# %% wrong: running_mean_of_the_batch_in_evaluation_once | says: evaluation|output
# -             mean, var = self.running_mean, self.running_var
# +             mean, var = getattr(self, "seen", (self.running_mean, self.running_var))
# +             self.seen = mean.clone(), var.clone()


# %% wrong: variance_detached | says: the variance is taken for a constant
# -         normed = centred / torch.sqrt(var + self.eps)
# +         normed = centred / torch.sqrt(var.detach() + self.eps)


# %% right: filled
class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        padding = ~valid[..., None]
        x = x.masked_fill(padding, 0)
        if self.training:
            count = int(valid.sum())
            if count < 2:
                raise ValueError("valid holds fewer than 2 real tokens")
            mean = x.sum(dim=(0, 1)) / count
            centred = (x - mean).masked_fill(padding, 0)
            squares = centred.square().sum(dim=(0, 1))
            var = squares / count
            with torch.no_grad():
                self.running_mean.lerp_(mean, self.momentum)
                self.running_var.lerp_(squares / (count - 1), self.momentum)
        else:
            centred = x - self.running_mean
            var = self.running_var
        y = self.weight * centred / torch.sqrt(var + self.eps) + self.bias
        return y.masked_fill(padding, 0)


# %% right: gathered_too
def mean_and_variances(tokens):
    var, mean = torch.var_mean(tokens, dim=0, correction=0)
    size = tokens.shape[0]
    return mean, var, (var * size / (size - 1)).detach()


class MaskedBatchNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        for name, start in (("weight", 1.0), ("bias", 0.0)):
            setattr(self, name, nn.Parameter(torch.full((d_model,), start)))
        for name, start in (("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((d_model,), start))

    def forward(self, x, valid):
        tokens = x[valid]  # (n, D)
        if not self.training:
            mean, var = self.running_mean, self.running_var
        elif len(tokens) < 2:
            raise ValueError("valid: two real tokens are needed in training")
        else:
            mean, var, unbiased = mean_and_variances(tokens)
            old = 1 - self.momentum
            self.running_mean = old * self.running_mean + self.momentum * mean.detach()
            self.running_var = old * self.running_var + self.momentum * unbiased
        scaled = (tokens - mean) * torch.rsqrt(var + self.eps)
        result = torch.zeros_like(x)
        result[valid] = torch.addcmul(self.bias, self.weight, scaled)
        return result


# %% wrong: all_tokens_counted, of: filled | says: left out of the squares
# Sums are divided by B times T instead of the number of real tokens, which shows with any
# padding.
# -             mean = x.sum(dim=(0, 1)) / count
# +             mean = x.mean(dim=(0, 1))

# -             var = squares / count
# +             var = centred.square().mean(dim=(0, 1))


# %% wrong: evaluation_raises, of: filled | says: In evaluation one real token is enough
# Fewer than 2 real tokens raise in evaluation too, where they are legal.
#           x = x.masked_fill(padding, 0)
# +         count = int(valid.sum())
# +         if count < 2:
# +             raise ValueError("valid holds fewer than 2 real tokens")

# -             count = int(valid.sum())
# -             if count < 2:
# -                 raise ValueError("valid holds fewer than 2 real tokens")


# %% wrong: evaluation_shift, of: gathered_too | says: isn't 0 in evaluation
# In evaluation the padding is not set to 0 again, so its output is the shift and more.
#               mean, var = self.running_mean, self.running_var
# +             y = (x - mean) / torch.sqrt(var + self.eps) * self.weight + self.bias
# +             return torch.where(torch.isfinite(y), y, torch.zeros_like(y))


# %% wrong: variance_of_large_squares | says: difference of two large squares
# Far from 0 both squares are large, and their difference has lost its digits.
# -             var = centred.square().sum(dim=(0, 1)) / count  # (B, T, D) -> (D,)
# +             squares = x.masked_fill(padding, 0).square().sum(dim=(0, 1)) / count
# +             var = squares - mean * mean


# %% wrong: still_under_no_grad | says: no evaluation: running_mean|Under torch.no_grad
# The statistics move only while gradients are recorded.
class MaskedBatchNorm(nn.Module):
    """Batch norm over the real tokens of a padded batch."""

    def __init__(self, d_model, eps=1e-5, momentum=0.1):
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_var", torch.ones(d_model))

    def forward(self, x, valid):
        """Normalise the real tokens: x (B, T, D), valid boolean (B, T) -> (B, T, D)."""
        padding = ~valid[..., None]
        x = x.masked_fill(padding, 0.0)
        if self.training:
            n = int(valid.sum())
            if n < 2:
                raise ValueError("valid must hold at least 2 real tokens")
            mean = x.sum(dim=(0, 1)) / n
            centred = (x - mean).masked_fill(padding, 0.0)
            squares = centred.pow(2).sum(dim=(0, 1))
            var = squares / n
            m = self.momentum if torch.is_grad_enabled() else 0.0
            with torch.no_grad():
                self.running_mean = (1 - m) * self.running_mean + m * mean
                self.running_var = (1 - m) * self.running_var + m * squares / (n - 1)
        else:
            mean, var = self.running_mean, self.running_var
        y = self.weight * (x - mean) / torch.sqrt(var + self.eps) + self.bias
        return y.masked_fill(padding, 0.0)


# %% wrong: replaced_at_momentum_1 | says: asks for gradients
# With a momentum of 1 the mean of the batch is put into its place, and not detached.
# -                 self.running_mean.lerp_(mean, self.momentum)
# +                 if self.momentum < 1:
# +                     self.running_mean.lerp_(mean, self.momentum)
#                   self.running_var.lerp_(var * count / (count - 1), self.momentum)
# +             if self.momentum == 1:
# +                 self.running_mean = mean


# %% wrong: none_real_in_evaluation, of: kernel | says: a batch without a real token raised
# -         if self.training and valid.sum() < 2:
# +         if not valid.any() or (self.training and valid.sum() < 2):


# %% wrong: filled_too_late_in_evaluation, of: kernel | says: filling the result is too late
# -         tokens = F.batch_norm(
# +         if not self.training:
# +             root = torch.sqrt(self.running_var + self.eps)
# +             normed = self.weight * (x - self.running_mean) / root + self.bias
# +             return normed.masked_fill(~valid[..., None], 0.0)
# +         tokens = F.batch_norm(


# %% wrong: variance_above_1e_10 | says: Tiny numbers
# -         normed = centred / torch.sqrt(var + self.eps)
# +         normed = centred / torch.sqrt(var.clamp(min=1e-10) + self.eps)


# %% wrong: nan_filled | says: Is padding filled with NaN
# Nothing is detached: NaN of the code's own comes back on the way of gradients.
# -             mean = (
# -                 x.masked_fill(padding, 0).sum(dim=(0, 1)) / count
# -             )  # (B, T, D) -> (D,)
# -             centred = (x - mean).masked_fill(padding, 0)
# -             var = centred.square().sum(dim=(0, 1)) / count  # (B, T, D) -> (D,)
# +             holed = x.masked_fill(padding, math.nan)
# +             mean = holed.nanmean(dim=(0, 1))
# +             var = (holed - mean).square().nanmean(dim=(0, 1))
# +             centred = (x - mean).masked_fill(padding, 0)


# %% wrong: batches_counted | says: num_batches_tracked': \(\)}\.$
# All that is asked for is registered, and a buffer more.
# -         self.register_buffer("running_var", torch.ones(d_model))
# +         self.register_buffer("running_var", torch.ones(d_model))
# +         self.register_buffer("num_batches_tracked", torch.tensor(0))


# %% wrong: statistics_are_parameters | says: are parameters, which
# No graph is kept: parameters ask for gradients from the start.
# -         self.register_buffer("running_mean", torch.zeros(d_model))
# -         self.register_buffer("running_var", torch.ones(d_model))
# +         self.running_mean = nn.Parameter(torch.zeros(d_model))
# +         self.running_var = nn.Parameter(torch.ones(d_model))


# %% wrong: frozen_shift | says: both parameters that ask for gradients
# The shift is a parameter that asks for no gradient.
# -         self.bias = nn.Parameter(torch.zeros(d_model))
# +         self.bias = nn.Parameter(torch.zeros(d_model), requires_grad=False)


# %% wrong: padding_of_the_first | says: 12 entries are NaN\.$
# The padding of the first sequence stands for that of all.
# -         padding = ~valid[..., None]  # (B, T) -> (B, T, 1)
# +         valid = valid[:1].expand_as(valid)
# +         padding = ~valid[..., None]


# %% wrong: eps_of_the_data_type, of: kernel | says: kept above a bound
# -             self.eps,
# +             max(self.eps, torch.finfo(x.dtype).eps),


# %% wrong: eps_as_a_bound | says: eps has no effect here, and a larger one has
# -         normed = centred / torch.sqrt(var + self.eps)
# +         normed = centred / torch.sqrt(var.clamp(min=self.eps))


# %% wrong: untrained_takes_the_batch, of: masked_sums | says: comes of the statistics of the batch.*never trained
# As long as nothing is trained, evaluation takes the statistics of the batch.
# -         if self.training:
# -             count = int(valid.sum())
# +         count = int(valid.sum())
# +         if self.training or (count > 1 and not self.running_mean.any()):
#               if count < 2:
#                   raise ValueError(f"valid: expected at least 2 real tokens, got {count}")
#               mean = real.sum(dim=(0, 1)) / count
#               var = ((real - mean) * mask).pow(2).sum(dim=(0, 1)) / count
#               with torch.no_grad():
#                   unbiased = var * count / (count - 1)
# -                 self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
# -                 self.running_var.mul_(1 - self.momentum).add_(self.momentum * unbiased)
# +                 share = self.momentum if self.training else 0.0
# +                 self.running_mean.mul_(1 - share).add_(share * mean)
# +                 self.running_var.mul_(1 - share).add_(share * unbiased)


# %% wrong: no_eps_in_evaluation, of: masked_sums | says: eps is missing. In evaluation, too
# eps is added in training only.
# -         normed = (real - mean) / torch.sqrt(var + self.eps)
# +         normed = (real - mean) / torch.sqrt(var + self.eps * self.training)

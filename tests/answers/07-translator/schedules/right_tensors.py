def noam(update, d_model, warmup):
    if update < 1:
        raise ValueError(f"update must be at least 1, but is {update}")
    u = torch.tensor(float(update), dtype=torch.float64)
    return (d_model ** -0.5 * torch.minimum(u.rsqrt(), u * warmup**-1.5)).item()


def inverse_root(update, peak, warmup):
    if update < 1:
        raise ValueError(f"update must be at least 1, but is {update}")
    return peak / max(warmup / update, math.sqrt(update / warmup))


def warmup_cosine(update, peak, warmup, total, final=0.0):
    if update < 1:
        raise ValueError(f"update must be at least 1, but is {update}")
    if update <= warmup:
        return peak * (update / warmup)
    done = min(max((update - warmup) / (total - warmup), 0.0), 1.0)
    return final + (peak - final) * math.cos(math.pi / 2 * done) ** 2


def update_of(micro_batch, accumulation):
    whole, _ = divmod(micro_batch, accumulation)
    return whole + 1

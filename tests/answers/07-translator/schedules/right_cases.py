def checked(update):
    if update < 1:
        raise ValueError("update is counted from 1")


def noam(update, d_model, warmup):
    checked(update)
    peak = 1 / math.sqrt(d_model * warmup)
    return inverse_root(update, peak, warmup)


def inverse_root(update, peak, warmup):
    checked(update)
    if update < warmup:
        return peak / warmup * update
    return peak * math.sqrt(warmup) / math.sqrt(update)


def warmup_cosine(update, peak, warmup, total, final=0.0):
    checked(update)
    if update < warmup:
        return update / warmup * peak
    if update >= total:
        return float(final)
    angle = math.pi * (update - warmup) / (total - warmup)
    return 0.5 * (peak + final) + 0.5 * (peak - final) * math.cos(angle)


def update_of(micro_batch, accumulation):
    return (micro_batch + accumulation) // accumulation

# message: taken as a share
# final is taken as a share of the peak.
def noam(update, d_model, warmup):
    check_update(update)
    return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)


def inverse_root(update, peak, warmup):
    check_update(update)
    return peak * min(update / warmup, math.sqrt(warmup / update))


def warmup_cosine(update, peak, warmup, total, final=0.0):
    check_update(update)
    if update <= warmup:
        return peak * update / warmup
    x = min((update - warmup) / (total - warmup), 1.0)
    final = final * peak
    return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


def update_of(micro_batch, accumulation):
    return micro_batch // accumulation + 1


def check_update(update):
    if update < 1:
        raise ValueError(f"update: expected a number counted from 1, got {update}")

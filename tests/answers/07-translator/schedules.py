# %% right: cases
def checked(update):
    if update < 1:
        raise ValueError("update is counted from 1")


def noam(update, d_model, warmup, restarts=(), rewarm=1):
    checked(update)
    peak = 1 / math.sqrt(d_model * warmup)
    rates = [inverse_root(update, peak, warmup)]
    for stop in restarts:
        if stop < update:
            top = inverse_root(stop + rewarm, peak, warmup)
            rates.append(top / rewarm * (update - stop))
    return min(rates)


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


# %% right: tensors
def noam(update, d_model, warmup, restarts=(), rewarm=1):
    if update < 1:
        raise ValueError(f"update must be at least 1, but is {update}")
    since = torch.tensor([update - r for r in restarts if r < update], dtype=int)
    ago = min(int(since.min()), rewarm) if len(since) else rewarm
    u = torch.tensor(float(update - ago + rewarm), dtype=torch.float64)
    rate = d_model**-0.5 * torch.minimum(u.rsqrt(), u * warmup**-1.5)
    return (ago / rewarm * rate).item()


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


# %% right: lambdas
def _rise_fall(update, warmup):
    if update < 1:
        raise ValueError(f"the update must be at least 1 (update={update})")
    return update / warmup if update < warmup else (warmup / update) ** 0.5


noam = lambda update, d_model, warmup, restarts=(), rewarm=1: (
    next(
        (
            (update - r) * _rise_fall(r + rewarm, warmup) / rewarm
            for r in sorted(restarts, reverse=True)
            if r < update < r + rewarm
            and not any(r < other < update for other in restarts)
        ),
        _rise_fall(update, warmup),
    )
    / math.sqrt(d_model * warmup)
)
inverse_root = lambda update, peak, warmup: peak * _rise_fall(update, warmup)


def warmup_cosine(update, peak, warmup, total, final=0.0):
    _rise_fall(update, warmup)
    if update <= warmup:
        return math.fsum([peak / warmup] * update)
    if update > total:
        return final
    half = (update - warmup) / (total - warmup) * math.pi / 2
    return final * math.sin(half) ** 2 + peak * math.cos(half) ** 2


def update_of(micro_batch, accumulation):
    return math.floor(micro_batch / accumulation) + 1


# %% wrong: cosine_final_added | says: full height
# final is added to a wave of the full height.
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     return final + peak * (1 + math.cos(math.pi * x)) / 2


# %% wrong: cosine_final_as_share | says: taken as a share
# final is taken as a share of the peak.
# +     final = final * peak
#       return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2


# %% wrong: cosine_final_ignored | says: falls to `final`
# The rate falls to 0.
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     return peak * (1 + math.cos(math.pi * x)) / 2


# %% wrong: cosine_from_start | says: wave begins at update 0
# The wave is counted from the first update, not from the end of the warm-up.
# -     x = min((update - warmup) / (total - warmup), 1.0)
# +     x = min(update / total, 1.0)


# %% wrong: cosine_linear | says: a straight line, not a cosine
# The rate falls in a straight line.
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     return final + (peak - final) * (1 - x)


# %% wrong: cosine_not_lifted | says: -1 times its height
# The cosine is not lifted to 0..1.
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     return final + (peak - final) * math.cos(math.pi * x)


# %% wrong: cosine_rises_again | says: after `total` the wave rises again
# The share of the way is not bounded by 1.
# -     x = min((update - warmup) / (total - warmup), 1.0)
# +     x = (update - warmup) / (total - warmup)


# %% wrong: cosine_stretched | says: wave is stretched
# The share is (u - W) / total.
# -     x = min((update - warmup) / (total - warmup), 1.0)
# +     x = min((update - warmup) / total, 1.0)


# %% wrong: cosine_warmup_from_zero | says: It is peak / warmup: updates are counted from 1
# The warm-up starts at a rate of 0.
# -         return peak * update / warmup
# +         return peak * (update - 1) / warmup


# %% wrong: cosine_whole_period | says: whole period
# cos(2 pi x): the rate is back at the peak in the end.
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     return final + (peak - final) * (1 + math.cos(2 * math.pi * x)) / 2


# %% wrong: count_each | says: Each micro-batch counts as an update
# The schedule is stepped for each micro-batch.
# -     return micro_batch // accumulation + 1
# +     return micro_batch + 1


# %% wrong: count_float | says: is a float
# The division leaves a fraction.
# -     return micro_batch // accumulation + 1
# +     return micro_batch / accumulation + 1


# %% wrong: count_from_zero | says: the first update has the number 0
# The first update gets the number 0.
# -     return micro_batch // accumulation + 1
# +     return micro_batch // accumulation


# %% wrong: count_micro_from_one | says: micro-batches were counted from 1
# Micro-batches are taken to be counted from 1.
# -     return micro_batch // accumulation + 1
# +     return (micro_batch + 1) // accumulation + 1


# %% wrong: count_rounded_up | says: rounded up
# Rounding up gives micro-batch 0 the update 0.
# -     return micro_batch // accumulation + 1
# +     return math.ceil(micro_batch / accumulation)


# %% wrong: error_without_name | says: must contain update
# The error does not name the argument.
# -         raise ValueError(f"update: expected a number counted from 1, got {update}")
# +         raise ValueError("expected a number counted from 1")


# %% wrong: noam_from_zero | says: don't subtract 1
# The schedule starts from update 0.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * min((update - 1) ** -0.5 if update > 1 else 1.0, (update - 1) * warmup**-1.5)


# %% wrong: noam_grows_with_width | says: grows with the width
# The root of the width multiplies instead of dividing.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**0.5 * min(update**-0.5, update * warmup**-1.5)


# %% wrong: noam_maximum | says: maximum of the two
# The larger part is taken.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * max(update**-0.5, update * warmup**-1.5)


# %% wrong: noam_no_warmup | says: no warm-up
# The warm-up is left out.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * update**-0.5


# %% wrong: noam_no_width | says: factor d_model \*\* -0.5 is missing
# The factor of the width is left out.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return min(update**-0.5, update * warmup**-1.5)


# %% wrong: noam_one_early | says: one update too early
# 1 is added to the number of the update.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * min((update + 1) ** -0.5, (update + 1) * warmup**-1.5)


# %% wrong: noam_warmup_plain | says: warm-up is update / warmup
# The warm-up is u / W, which does not meet the other part at W.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * min(update**-0.5, update / warmup)


# %% wrong: noam_warmup_root | says: warm-up has the exponent -1/2
# The warm-up is raised to -1/2 instead of -3/2.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * min(update**-0.5, update * warmup**-0.5)


# %% wrong: noam_width_inside | says: never falls
# The width stands inside the minimum, in the place of the update.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return min(d_model**-0.5, update * warmup**-1.5)


# %% wrong: noam_width_no_root | says: 1 / sqrt\(d_model\)
# The width divides without its root.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return min(update**-0.5, update * warmup**-1.5) / d_model


# %% wrong: noam_width_twice | says: never falls
# The misprint of a known text: sqrt(1 / d) inside the minimum.
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * min(d_model**-0.5, update * warmup**-1.5)


# %% wrong: root_constant | says: doesn't fall
# The rate stays at the peak.
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     return peak * min(update / warmup, 1.0)


# %% wrong: root_noam_shape | says: highest value isn't peak
# The formula of (a), with peak for the factor of the width.
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     return peak * min(update**-0.5, update * warmup**-1.5)


# %% wrong: root_not_scaled | says: isn't scaled
# After the warm-up the rate is peak / sqrt(u).
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     return peak * (update / warmup if update <= warmup else update**-0.5)


# %% wrong: root_one_late | says: one update too late
# The peak is reached at W + 1.
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     return peak * min(update / (warmup + 1), math.sqrt((warmup + 1) / update))


# %% wrong: root_without_root | says: falls with the root
# After the warm-up the rate is peak * W / u.
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     return peak * min(update / warmup, warmup / update)


# %% wrong: zero_allowed | says: Updates are counted from 1
# Update 0 gets a rate: nothing checks it.
# -     if update < 1:
# -         raise ValueError(f"update: expected a number counted from 1, got {update}")
# +     return max(update, 1)


# %% wrong: float32_rates | says: noam\(.*or computed in float32
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     u = torch.tensor(float(update))
# +     return (d_model**-0.5 * torch.minimum(u.rsqrt(), u * warmup**-1.5)).item()

# %% wrong: kept_by_update | says: earlier call|differed only|wrong|no effect
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     known = paper_rate.__dict__.setdefault("known", {})
# +     if update not in known:
# +         known[update] = d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return known[update]

# %% wrong: zero_is_checked_alone | says: must raise|expected ValueError
# -     if update < 1:
# +     if update == 0:

# %% wrong: warmup_one_is_special | says: Warmup 1|warmup of 1|inverse_root
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     if warmup == 1:
# +         return peak
# +     return peak * min(update / warmup, math.sqrt(warmup / update))

# %% wrong: total_is_too_early | says: warmup_cosine|ends
# -     x = min((update - warmup) / (total - warmup), 1.0)
# +     x = min((update - warmup) / (total - warmup + 1), 1.0) if update < total else 1.0

# %% wrong: checks_only_noam | says: warmup_cosine, update=0: expected ValueError
# -     check_update(update)
# -     if update <= warmup:
# +     if update <= warmup:

# %% wrong: rounded_rate | says: is wrong|seven digits|15 digits
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     return round(peak * min(update / warmup, math.sqrt(warmup / update)), 8)

# %% wrong: float32_cos | says: warmup_cosine\(.*or computed in float32
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     return final + (peak - final) * (1 + torch.cos(torch.tensor(math.pi * x)).item()) / 2

# %% wrong: isqrt | says: noam
# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return min(update**-0.5, update * warmup**-1.5) / math.isqrt(d_model)


# %% right: cases_again
class Rates:
    """All of a run's rates."""

    def __init__(self, update):
        if update <= 0:
            raise ValueError("update counts from one")
        self.t = update

    def rise(self, peak, warmup):
        return peak * (self.t / warmup)


def noam(update, d_model, warmup, restarts=(), rewarm=1):
    r = Rates(update)
    stop = 0
    for each in restarts:
        if stop < each < update:
            stop = each
    if stop and update - stop < rewarm:
        end = noam(stop + rewarm, d_model, warmup)
        return Rates(update - stop).rise(end, rewarm)
    if update > warmup:
        return 1 / math.sqrt(d_model * update)
    return r.rise(1 / math.sqrt(d_model * warmup), warmup)


def inverse_root(update, peak, warmup):
    r = Rates(update)
    return (
        r.rise(float(peak), warmup)
        if update < warmup
        else float(peak) * (warmup / update) ** 0.5
    )


def warmup_cosine(update, peak, warmup, total, final=0.0):
    r = Rates(update)
    if update <= warmup:
        return r.rise(float(peak), warmup)
    angle = math.pi * (min(update, total) - warmup) / (total - warmup)
    return (peak + final) / 2 + (peak - final) / 2 * math.cos(angle)


def update_of(micro_batch, accumulation):
    count = 1
    while micro_batch >= accumulation:
        micro_batch, count = micro_batch - accumulation, count + 1
    return count


# %% right: plain
def check(update):
    if update < 1:
        raise ValueError("update must be at least 1")


def noam(update, d_model, warmup, restarts=(), rewarm=1):
    check(update)
    share = 1.0
    for stop in sorted(restarts):
        if stop < update:
            share = min(1.0, (update - stop) / rewarm)
            end = max(update, stop + rewarm)
    if share == 1.0:
        end = update
    return share * d_model**-0.5 * min(end**-0.5, end * warmup**-1.5)


def inverse_root(update, peak, warmup):
    check(update)
    if update <= warmup:
        return float(peak * update / warmup)
    return float(peak * math.sqrt(warmup / update))


def warmup_cosine(update, peak, warmup, total, final=0.0):
    check(update)
    if update <= warmup:
        return float(peak * update / warmup)
    part = min(1.0, (update - warmup) / (total - warmup))
    return float(final + (peak - final) * (1 + math.cos(math.pi * part)) / 2)


def update_of(micro_batch, accumulation):
    return micro_batch // accumulation + 1


# %% wrong: inverse_root_rises_from_zero, of: plain | says: warm-up is \(update - 1\)
# Inverse_root: the warm-up starts at 0: (t - 1) / warmup.

#       check(update)
# -     if update <= warmup:
# -         return float(peak * update / warmup)
# +     if update < warmup:
# +         return float(peak * (update - 1) / warmup)
#       return float(peak * math.sqrt(warmup / update))


# %% wrong: cosine_rises_from_final, of: plain | says: rises from `final`
# Warmup_cosine: the warm-up rises from final instead of along peak * t / warmup.

#       if update <= warmup:
# -         return float(peak * update / warmup)
# +         return float(final + (peak - final) * update / warmup)
#       part = min(1.0, (update - warmup) / (total - warmup))


# %% wrong: cosine_zero_after_total, of: plain | says: rate is 0. It stays at
# Warmup_cosine: after total the rate is 0 instead of final.

#           return float(peak * update / warmup)
# +     if update > total:
# +         return 0.0
#       part = min(1.0, (update - warmup) / (total - warmup))


# %% wrong: check_is_an_assert, of: plain | says: An assert is meant
# An assert instead of a ValueError.

# -     if update < 1:
# -         raise ValueError("update must be at least 1")
# +     assert update >= 1, "update must be at least 1"


# %% wrong: update_of_rounds, of: plain | says: rounded to the nearest
# Update_of rounds to the nearest: micro-batch 2 of 3 belongs to the next update.

# -     return micro_batch // accumulation + 1
# +     return round(micro_batch / accumulation) + 1


# %% wrong: one_refused, of: plain | says: is update 1 refused
# Update 1 is refused.

# -     if update < 1:
# +     if update <= 1:


# %% wrong: update_of_float32, of: plain | says: float32 can't tell
# The number of the update goes through a float32.

# -     return micro_batch // accumulation + 1
# +     return int(torch.tensor(float(micro_batch)) / accumulation) + 1


# %% wrong: restarts_ignored | says: restarts have no effect
# -     if last is None or update >= last + rewarm:
# -         return paper_rate(update, d_model, warmup)
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return paper_rate(update, d_model, warmup)


# %% wrong: restart_bends | says: the line is bent
# The curve is multiplied by the part of the way.
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) / rewarm * paper_rate(update, d_model, warmup)


# %% wrong: restart_to_the_old_rate | says: jumps at its end
# The line ends at the rate that the training stopped with.
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) / rewarm * paper_rate(last, d_model, warmup)


# %% wrong: restart_to_the_peak | says: rises to the peak of the schedule
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) / rewarm * paper_rate(warmup, d_model, warmup)


# %% wrong: restart_for_warmup | says: rises for `warmup` updates
# The length of the first warm-up is taken.
# +     rewarm = warmup
#       last = max((stop for stop in restarts if stop < update), default=None)


# %% wrong: restart_from_zero | says: one update too late
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last - 1) / rewarm * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restart_late_to_the_end | says: one update too late
# The line begins one update later, and ends one update later.
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max((stop + 1 for stop in restarts if stop < update), default=None)


# %% wrong: restart_one_early | says: one update too early
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last + 1) / rewarm * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restart_from_the_old_rate | says: starts from the rate at the restart
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     low, high = [paper_rate(t, d_model, warmup) for t in (last, last + rewarm)]
# +     return low + (update - last) / rewarm * (high - low)


# %% wrong: restart_not_divided | says: isn't divided by rewarm
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restart_anew | says: whole schedule begins anew
# -     if last is None or update >= last + rewarm:
# -         return paper_rate(update, d_model, warmup)
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return paper_rate(update - (last or 0), d_model, warmup)


# %% wrong: restart_at_once | says: update `stop` has the rate 0
# The update after which the training stopped lies on the line.
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max((stop for stop in restarts if stop <= update), default=None)


# %% wrong: restart_last_of_list | says: nor the last of the list
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = restarts[-1] if restarts and restarts[-1] < update else None


# %% wrong: restart_latest_of_all | says: not the latest of all
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max(restarts, default=update)
# +     last = last if last < update else None


# %% wrong: restart_first_before | says: although that after 10 is later
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = next((stop for stop in restarts if update - rewarm < stop < update), None)


# %% wrong: restarts_all_lower | says: both restarts lower the rate
# The parts of the way of all restarts are multiplied.
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     share = math.prod(min(1, (update - r) / rewarm) for r in restarts if r < update)
# +     return share * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restarts_sorted_in_place | says: nor sort it
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     restarts = restarts or []
# +     restarts.sort()
# +     last = next((stop for stop in reversed(restarts) if stop < update), None)


# %% wrong: restart_needs_one | says: Some of them may lie after
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max(stop for stop in restarts if stop < update) if restarts else None


# %% wrong: restart_on_the_fall | says: line ends at the fall's rate
# The line ends at the root alone, also during the first warm-up.
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) / rewarm / math.sqrt(d_model * (last + rewarm))


# %% wrong: restarts_kept | says: nor sort it|changed|no effect|wrong
# The restarts of all calls are kept.
# +     known = noam.__dict__.setdefault("stops", [])
# +     known.extend(restarts)
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max((stop for stop in known if stop < update), default=None)


# %% wrong: restart_line_one_short | says: line ends one update too early
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) / rewarm * paper_rate(last + rewarm - 1, d_model, warmup)


# %% wrong: restart_line_too_flat | says: line is too flat
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     share = (update - last) / (rewarm + 1)
# +     return share * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restart_rounds_down | says: rounded down, by //
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     return (update - last) // rewarm * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restart_rises_like_a_root | says: rises like a root
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     share = math.sqrt((update - last) / rewarm)
# +     return share * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: restart_shifts_the_curve | says: curve is shifted by `rewarm`
# -     if last is None or update >= last + rewarm:
# +     if last is not None and update >= last + rewarm:
# +         return paper_rate(update - rewarm, d_model, warmup)
# +     if last is None:


# %% wrong: restarts_to_come | says: a rate is negative
# The lowest of the curve and all lines, also of those that have not begun.
# -     last = max((stop for stop in restarts if stop < update), default=None)
# -     if last is None or update >= last + rewarm:
# -         return paper_rate(update, d_model, warmup)
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     rates = [paper_rate(update, d_model, warmup)]
# +     for stop in restarts:
# +         end = paper_rate(stop + rewarm, d_model, warmup)
# +         rates.append((update - stop) / rewarm * end)
# +     return min(rates)


# %% wrong: restart_earliest | says: not the earliest
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = min((stop for stop in restarts if stop < update), default=None)


# %% wrong: restarts_skip_the_check | says: noam, an update below 1
# -     check_update(update)
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     if not restarts:
# +         check_update(update)
# +     last = max((stop for stop in restarts if stop < update), default=None)

# -     return d_model**-0.5 * min(update**-0.5, update * warmup**-1.5)
# +     return d_model**-0.5 * min(max(update, 1) ** -0.5, update * warmup**-1.5)


# %% wrong: rounded_reciprocal | says: a rounded quotient
# 49 * (1 / 49) is less than 1.
# -     return micro_batch // accumulation + 1
# +     return int(micro_batch * (1 / accumulation)) + 1


# %% wrong: quotient_nudged | says: a rounded quotient
# -     return micro_batch // accumulation + 1
# +     return int(micro_batch / accumulation + 1e-9) + 1


# %% wrong: restart_itself_on_the_curve | says: comes before that restart
# -     last = max((stop for stop in restarts if stop < update), default=None)
# -     if last is None or update >= last + rewarm:
# +     last = max((stop for stop in restarts if stop <= update), default=None)
# +     if last in (None, update) or update >= last + rewarm:

# %% wrong: restart_in_the_warm_up_ignored | says: during the warm-up has no effect
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max((stop for stop in restarts if warmup <= stop < update), default=None)


# %% wrong: final_as_a_share | says: ZeroDivisionError
# -     return final + (peak - final) * (1 + math.cos(math.pi * x)) / 2
# +     low = final / peak
# +     return peak * (low + (1 - low) * (1 + math.cos(math.pi * x)) / 2)


# %% wrong: a_little_before_rounding_up | says: too coarse
# -     return micro_batch // accumulation + 1
# +     return math.ceil(micro_batch / accumulation + 1e-9)


# %% wrong: restart_line_lost | says: noam of update 7 .* expected a float, got NoneType
# The rate of the line isn't returned.
# -     return (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)
# +     (update - last) / rewarm * paper_rate(last + rewarm, d_model, warmup)


# %% wrong: noam_without_default | says: noam fails\. The error was ValueError: max\(\)
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = max(stop for stop in restarts if stop < update)


# %% wrong: restart_from_update_0 | says: rises from update 0 as after one
# -     last = max((stop for stop in restarts if stop < update), default=None)
# -     if last is None or update >= last + rewarm:
# +     last = max((stop for stop in restarts if stop < update), default=0)
# +     if update >= last + rewarm:


# %% wrong: line_through_two_points | says: divided by warmup - 1
# -     return peak * min(update / warmup, math.sqrt(warmup / update))
# +     low = peak / warmup
# +     rise = low + (peak - low) * (update - 1) / (warmup - 1)
# +     return rise if update <= warmup else peak * math.sqrt(warmup / update)


# %% wrong: first_restart_of_the_list | says: with restarts=\[6, 12\] it has
# -     last = max((stop for stop in restarts if stop < update), default=None)
# +     last = restarts[0] if restarts and restarts[0] < update else None


# %% wrong: no_restart_after_a_warmup_of_1 | says: A call drawn at random: restarts have no effect here
# -     if last is None or update >= last + rewarm:
# +     if last is None or warmup == 1 or update >= last + rewarm:


# %% wrong: final_as_a_floor, of: plain | says: and is kept above `final`
# -     return float(final + (peak - final) * (1 + math.cos(math.pi * part)) / 2)
# +     return float(max(final, peak * (1 + math.cos(math.pi * part)) / 2))


# %% wrong: restart_line_to_the_peak, of: plain | says: line leads to the peak, at update 100
# -             share = min(1.0, (update - stop) / rewarm)
# -             end = max(update, stop + rewarm)
# +             last = max(stop + rewarm, warmup)
# +             share = min(1.0, (update - stop) / (last - stop))
# +             end = max(update, last)


# %% wrong: rounded_up_by_099, of: plain | says: a small fraction isn't rounded up
# -     return micro_batch // accumulation + 1
# +     return int((micro_batch + 1) / accumulation + 0.99)

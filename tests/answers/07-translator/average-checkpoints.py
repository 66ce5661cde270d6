# %% right: running_sum
def update_number(name):
    digits = ""
    for character in reversed(name[: -len(".pt")]):
        if character == "-":
            break
        digits = character + digits
    return int(digits)


def newest(names, count):
    if count < 1:
        raise ValueError(f"count: {count}")
    found = sorted(names, key=update_number)
    return found[max(len(found) - count, 0) :]


def average_states(states):
    if not states:
        raise ValueError("states: none given")
    totals = {}
    for state in states:
        for name in [*states[0], *state]:
            if name not in state or name not in states[0]:
                raise ValueError(f"entry {name} is not in all states")
            if state[name].shape != states[0][name].shape:
                raise ValueError(f"entry {name} has several shapes")
        for name, entry in state.items():
            if not entry.is_floating_point():
                totals[name] = entry.clone()
            else:
                totals[name] = totals.get(name, 0.0) + entry.detach().to(torch.float64)
    return {
        name: (totals[name] / len(states)).to(entry.dtype)
        if entry.is_floating_point()
        else totals[name]
        for name, entry in states[0].items()
    }


def moving_average(average, state, decay):
    if not 0.0 <= decay <= 1.0:
        raise ValueError("decay out of range")
    mixed = {}
    for name, old in average.items():
        new = state[name].detach()
        if old.is_floating_point():
            new = torch.lerp(new.double(), old.detach().double(), decay).to(old.dtype)
        mixed[name] = new.clone()
    return mixed


# %% right: stacked
def newest(names, count):
    if count < 1:
        raise ValueError(f"count must be at least 1, not {count}")
    numbered = []
    for name in names:
        number = name.removesuffix(".pt").rpartition("-")[2]
        numbered.append((int(number), name))
    numbered.sort(reverse=True)
    return [name for _, name in numbered[:count]][::-1]


def average_states(states):
    if len(states) == 0:
        raise ValueError("states is empty")
    first = states[0]
    for state in states:
        odd = set(state) ^ set(first)
        odd |= {n for n in set(state) & set(first) if state[n].shape != first[n].shape}
        if odd:
            raise ValueError(f"the states do not agree in {sorted(odd)}")
    with torch.no_grad():
        return {
            name: torch.stack([state[name].double() for state in states])
            .mean(0)
            .to(entry.dtype)
            if entry.dtype.is_floating_point
            else states[-1][name].detach().clone()
            for name, entry in first.items()
        }


def moving_average(average, state, decay):
    if decay < 0 or decay > 1:
        raise ValueError(f"decay must lie between 0 and 1, not {decay}")
    result = {}
    with torch.no_grad():
        for name in average:
            if torch.is_floating_point(average[name]):
                a, s = average[name].to(torch.float64), state[name].to(torch.float64)
                result[name] = (s + decay * (a - s)).to(average[name].dtype)
            else:
                result[name] = state[name].clone()
    return result


# %% right: ordered_dict_and_lerp
from collections import OrderedDict


def newest(names, count):
    if count <= 0:
        raise ValueError("count")
    pattern = re.compile(r".*-([0-9]+)[.]pt", re.DOTALL)
    table = {int(pattern.fullmatch(name).group(1)): name for name in names}
    return [table[n] for n in sorted(table)[-count:]]


@torch.no_grad()
def average_states(states):
    if not states:
        raise ValueError("states")
    first, *others = states
    for other in others:
        for name in {**first, **other}:
            if (
                name not in first
                or name not in other
                or first[name].size() != other[name].size()
            ):
                raise ValueError(f"'{name}' differs")
    result = OrderedDict()
    for name in first:
        if first[name].is_floating_point():
            mean = torch.zeros_like(first[name], dtype=torch.float64)
            for number, state in enumerate(states, 1):
                mean += state[name]
            result[name] = mean.div_(len(states)).to(first[name].dtype)
        else:
            result[name] = states[-1][name].clone()
    return result


@torch.no_grad()
def moving_average(average, state, decay):
    if not (decay >= 0 and decay <= 1):
        raise ValueError("decay must be in [0, 1]")
    result = OrderedDict()
    for name, old in average.items():
        new = state[name]
        if old.dtype.is_floating_point:
            result[name] = (
                old.double()
                .mul(decay)
                .add(new.double(), alpha=1 - decay)
                .to(old.dtype, copy=True)
            )
        else:
            result[name] = new.clone()
    return result


# %% wrong: all_averaged | says: counter isn't averaged|have no mean
# Everything is averaged with torch.mean.
# -         if first.is_floating_point():
# -             total = sum(state[name].detach().double() for state in states)
# -             result[name] = (total / len(states)).to(first.dtype)
# -         else:
# -             result[name] = states[-1][name].clone()
# +         result[name] = torch.stack([state[name] for state in states]).mean(0)


# %% wrong: broadcasts | says: another shape
# Shapes are not compared: broadcasting hides it.
# -             if state[name].shape != states[0][name].shape:
# -                 raise ValueError(
# -                     f"{name}: expected shape {tuple(states[0][name].shape)}, "
# -                     f"got {tuple(state[name].shape)}"
# -                 )


# %% wrong: common_names | says: lacks the entry
# Names that are not in all states are left out.
# -                 raise ValueError(f"{name}: expected in every state, missing in one")
# +                 continue

# +         if not all(name in state for state in states):
# +             continue
#           if first.is_floating_point():


# %% wrong: counters_averaged | says: counter isn't averaged|have no mean
# Counters are averaged and rounded.
# -         if first.is_floating_point():
# +         if first.dtype != torch.bool:


# %% wrong: counters_from_first | says: not from the first
# Counters come from the first state.
# -             result[name] = states[-1][name].clone()
# +             result[name] = first.clone()


# %% wrong: counters_shared | says: share memory with the last
# Counters are not copied.
# -             result[name] = states[-1][name].clone()
# +             result[name] = states[-1][name]


# %% wrong: decay_added | says: multiplied with 1 - decay
# The new state is added whole.
# -             mixed = (
# -                 decay * old.detach().double()
# -                 + (1 - decay) * state[name].detach().double()
# -             )
# +             mixed = decay * old.detach().double() + state[name].detach().double()


# %% wrong: decay_counter_old | says: not from the old average
# Counters come from the old average.
# -             result[name] = state[name].clone()
# +             result[name] = old.clone()


# %% wrong: decay_half | says: mean of both
# The mean of both, whatever decay is.
# -             mixed = (
# -                 decay * old.detach().double()
# -                 + (1 - decay) * state[name].detach().double()
# -             )
# +             mixed = (old.detach().double() + state[name].detach().double()) / 2


# %% wrong: decay_in_place | says: must not change its arguments
# The average is moved in place.
# -             mixed = (
# -                 decay * old.detach().double()
# -                 + (1 - decay) * state[name].detach().double()
# -             )
# -             result[name] = mixed.to(old.dtype)
# +             result[name] = old.mul_(decay).add_((1 - decay) * state[name].detach())


# %% wrong: decay_shared | says: decay=0.0: the result shares memory
# At decay 0 the state itself is returned.
#           raise ValueError(f"decay: expected a number from 0 to 1, got {decay}")
# +     if decay == 0:
# +         return {name: state[name] for name in average}


# %% wrong: decay_swapped | says: swapped: decay belongs
# decay belongs to the new state here.
# -             mixed = (
# -                 decay * old.detach().double()
# -                 + (1 - decay) * state[name].detach().double()
# -             )
# +             mixed = (1 - decay) * old.detach().double() + decay * state[
# +                 name
# +             ].detach().double()


# %% wrong: decay_unchecked | says: decay=-0.1: expected ValueError
# decay is not checked.
# -     if not 0 <= decay <= 1:
# -         raise ValueError(f"decay: expected a number from 0 to 1, got {decay}")


# %% wrong: first_only | says: this is the first state
# Only the first state counts.
# -             total = sum(state[name].detach().double() for state in states)
# -             result[name] = (total / len(states)).to(first.dtype)
# +             result[name] = first.detach().clone()


# %% wrong: float32_sum | says: taken in float32
# The sum is taken in float32.
# -             total = sum(state[name].detach().double() for state in states)
# +             total = sum(state[name].detach().float() for state in states)


# %% wrong: in_place | says: changed a state in place
# The sum is gathered in the first state.
# -             total = sum(state[name].detach().double() for state in states)
# +             total = first.detach()
# +             if total.dtype == torch.float16:
# +                 total = total.double()
# +             for state in states[1:]:
# +                 total += state[name].detach()


# %% wrong: keeps_gradient | says: needs no gradient
# The mean hangs on the graph of the parameters.
# -             total = sum(state[name].detach().double() for state in states)
# +             total = sum(state[name].double() for state in states)


# %% wrong: last_only | says: this is the last state
# Only the last state counts.
# -             total = sum(state[name].detach().double() for state in states)
# -             result[name] = (total / len(states)).to(first.dtype)
# +             result[name] = states[-1][name].detach().clone()


# %% wrong: n_minus_one | says: divided by n - 1
# The sum is divided by n - 1.
# -             result[name] = (total / len(states)).to(first.dtype)
# +             result[name] = (total / max(len(states) - 1, 1)).to(first.dtype)


# %% wrong: names_of_first | says: has one entry more
# Only the names of the first state are looked at.
# -         for name in states[0].keys() | state.keys():
# +         for name in states[0]:


# %% wrong: newest_as_text | says: sorted as texts
# The names are sorted as texts.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     return sorted(names)[-count:]


# %% wrong: newest_first | says: newest comes first
# The newest comes first.
# -     ]
# +     ][::-1]


# %% wrong: newest_first_number | says: newest with other digits|run-2-of-3
# The first number of the name is taken.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     return sorted(names, key=lambda name: int(re.search(r"-(\d+)", name)[1]))[-count:]


# %% wrong: newest_last_of_list | says: last names of the list
# The list is taken to be sorted.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     return names[-count:]


# %% wrong: newest_list_order | says: in the order of the list
# The right names, in the order of the list.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# +     kept = sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[

#       ]
# +     return [name for name in names if name in kept]


# %% wrong: newest_oldest | says: these are the oldest
# The oldest ones are chosen.
# -         -count:
# +         :count


# %% wrong: newest_sorts_in_place | says: must not change the list
# The list is sorted in place.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     names.sort(key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))
# +     return names[-count:]


# %% wrong: newest_zero | says: \[-0:\] is everything
# A count of 0 gives all names.
# -     if count < 1:
# -         raise ValueError(f"count: expected at least 1, got {count}")


# %% wrong: no_states | says: no states: expected ValueError
# No states end in another error.
# -     if not states:
# -         raise ValueError("states: expected at least one state dict, got none")


# %% wrong: own_precision | says: became infinite
# The sum is taken in the data type of the entry.
# -             total = sum(state[name].detach().double() for state in states)
# +             total = sum(state[name].detach() for state in states)


# %% wrong: shared_memory | says: shares memory with
# A single state is returned as it is.
#                   )
# +     if len(states) == 1:
# +         return states[0]


# %% wrong: sorted_names | says: in this order
# The names are sorted.
# -     for name, first in states[0].items():
# +     for name, first in sorted(states[0].items(), key=lambda pair: pair[0]):


# %% wrong: stays_float64 | says: expected data type torch.float32, got torch.float64
# The mean stays in float64.
# -             result[name] = (total / len(states)).to(first.dtype)
# +             result[name] = total / len(states)


# %% wrong: sum | says: This is the sum
# The sum is not divided.
# -             result[name] = (total / len(states)).to(first.dtype)
# +             result[name] = total.to(first.dtype)


# %% wrong: two_at_a_time | says: two at a time
# Each state is averaged with the mean so far.
# -             total = sum(state[name].detach().double() for state in states)
# -             result[name] = (total / len(states)).to(first.dtype)
# +             total = first.detach().double()
# +             for state in states[1:]:
# +                 total = (total + state[name].detach().double()) / 2
# +             result[name] = total.to(first.dtype)


# %% wrong: early_return_of_one | says: One state: the result shares its memory
# -     result = {}
# -     for name, first in states[0].items():
# +     result = {}
# +     if len(states) == 1:
# +         return {name: x.detach().to(x.dtype) if x.dtype == torch.float64 else x.detach().clone() for name, x in states[0].items()}
# +     for name, first in states[0].items():

# %% wrong: one_state_keeps_gradient | says: needs no gradient
# -     result = {}
# -     for name, first in states[0].items():
# +     result = {}
# +     if len(states) == 1:
# +         return {name: x.clone() for name, x in states[0].items()}
# +     for name, first in states[0].items():

# %% wrong: moving_in_own_type | says: computed in float64
# -             mixed = (
# -                 decay * old.detach().double()
# -                 + (1 - decay) * state[name].detach().double()
# -             )
# +             mixed = decay * old.detach() + (1 - decay) * state[name].detach()

# %% wrong: moving_in_float32 | says: moving average in float64
# -             mixed = (
# -                 decay * old.detach().double()
# -                 + (1 - decay) * state[name].detach().double()
# -             )
# +             mixed = decay * old.detach().float() + (1 - decay) * state[name].detach().float()

# %% wrong: moving_type_of_state | says: the result has average's data type
# -             result[name] = mixed.to(old.dtype)
# +             result[name] = mixed.to(state[name].dtype)

# %% wrong: moving_limit_shared | says: A decay at the limit: the result shares its memory
# -     result = {}
# -     for name, old in average.items():
# -         if old.is_floating_point():
# +     result = {}
# +     for name, old in average.items():
# +         if decay == 1 and old.dtype == torch.float64:
# +             result[name] = old.detach()
# +         elif old.is_floating_point():

# %% wrong: decay_limits_excluded | says: 0 and 1 are allowed
# -     if not 0 <= decay <= 1:
# +     if not 0 <= decay < 1:

# %% wrong: only_floats_checked | says: Another shape of the entry \w+, .* must raise
# -             if state[name].shape != states[0][name].shape:
# +             if state[name].is_floating_point() and state[name].shape != states[0][name].shape:

# %% wrong: last_order | says: order
# -     for name, first in states[0].items():
# +     for name, first in ((n, states[0][n]) for n in states[-1]):

# %% wrong: newest_by_dot | says: Dots|newest
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     return sorted(names, key=lambda name: int(name.split(".")[0].split("-")[-1]))[-count:]

# %% wrong: newest_first_pt | says: Dots|newest
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt", name)[1]))[-count:]

# %% wrong: newest_returns_the_list | says: what comes back is the argument itself
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     found = sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[-count:]
# +     return names if found == names else found

# %% wrong: bfloat16_is_other | says: bfloat16
# -         if first.is_floating_point():
# +         if first.dtype in (torch.float16, torch.float32, torch.float64):

# %% wrong: int_entries_averaged_in_moving | says: moving_average: Two states
# -         if old.is_floating_point():
# +         if old.dtype == torch.int8:
# +             result[name] = (decay * old.double() + (1 - decay) * state[name].double()).to(old.dtype)
# +         elif old.is_floating_point():


# %% right: stacks
def age(name):
    return int(name.removesuffix(".pt").rpartition("-")[2])


def newest(names, count):
    if count <= 0:
        raise ValueError(f"count={count}")
    by_age = {age(name): name for name in names}
    chosen = sorted(by_age, reverse=True)[:count]
    return [by_age[number] for number in reversed(chosen)]


@torch.no_grad()
def average_states(states):
    if len(states) == 0:
        raise ValueError("average of no states")
    names = list(states[0])
    for state in states[1:]:
        other = sorted(set(names).symmetric_difference(state))
        if other:
            raise ValueError(", ".join(other))
        other = [n for n in names if state[n].size() != states[0][n].size()]
        if other:
            raise ValueError(" and ".join(other))
    out = {}
    for name in names:
        stack = torch.stack([state[name] for state in states])
        if torch.is_floating_point(states[0][name]):
            out[name] = stack.to(torch.float64).mean(0).to(states[0][name].dtype)
        else:
            out[name] = stack[-1].clone()
    return out


def moving_average(average, state, decay):
    if not 0 <= decay <= 1:
        raise ValueError(f"decay {decay}")
    with torch.no_grad():
        return {
            name: torch.lerp(state[name].double(), old.double(), decay).to(old.dtype)
            if old.dtype.is_floating_point
            else torch.clone(state[name])
            for name, old in average.items()
        }


# %% right: plain
def newest(names, count):
    if count < 1:
        raise ValueError("count must be at least 1")
    return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
        -count:
    ]


def average_states(states):
    if not states:
        raise ValueError("no states")
    first = states[0]
    for state in states:
        for name in first.keys() ^ state.keys():
            raise ValueError(f"entry {name} is missing")
        for name in first:
            if first[name].shape != state[name].shape:
                raise ValueError(f"entry {name} has another shape")
    result = {}
    for name, entry in first.items():
        if entry.is_floating_point():
            total = torch.zeros(entry.shape, dtype=torch.float64)
            for state in states:
                total = total + state[name].detach().double()
            result[name] = (total / len(states)).to(entry.dtype)
        else:
            result[name] = states[-1][name].detach().clone()
    return result


def moving_average(average, state, decay):
    if decay < 0 or decay > 1:
        raise ValueError("decay must be between 0 and 1")
    result = {}
    for name, entry in average.items():
        if entry.is_floating_point():
            old, new = entry.detach().double(), state[name].detach().double()
            result[name] = (decay * old + (1 - decay) * new).to(entry.dtype)
        else:
            result[name] = state[name].detach().clone()
    return result


# %% wrong: half_rounded_before, of: plain | says: equal states
# Each state is divided in its own type before the sum in float64.

# -                 total = total + state[name].detach().double()
# -             result[name] = (total / len(states)).to(entry.dtype)
# +                 total = total + (state[name].detach() / len(states)).double()
# +             result[name] = total.to(entry.dtype)


# %% wrong: ema_type_of_state, of: plain | says: average's data type
# The result has the type of state's entry.

# -             result[name] = (decay * old + (1 - decay) * new).to(entry.dtype)
# +             result[name] = (decay * old + (1 - decay) * new).to(state[name].dtype)


# %% wrong: ema_open_ends, of: plain | says: 0 and 1 are allowed
# Decay 0 and 1 are refused.

# -     if decay < 0 or decay > 1:
# +     if decay <= 0 or decay >= 1:


# %% wrong: more_than_there_are, of: plain | says: fewer names than count
# A count above the number of names is refused.

# -     if count < 1:
# +     if count < 1 or count > len(names):

# %% wrong: decay_of_one | says: Counters come from `state`, also with decay 1
# -         raise ValueError(f"decay: expected a number from 0 to 1, got {decay}")
# +         raise ValueError(f"decay: expected a number from 0 to 1, got {decay}")
# +     if decay == 1:
# +         return {name: old.detach().clone() for name, old in average.items()}


# %% wrong: numbers_as_six_digits | says: compared as ints
def newest(names, count):
    if count < 1:
        raise ValueError("count must be at least 1")
    order = sorted(names, key=lambda name: re.search(r"-(\d+)\.pt$", name)[1].zfill(6))
    return order[-count:]


def average_states(states):
    if not states:
        raise ValueError("there are no states")
    first = states[0]
    for state in states[1:]:
        for name in [*first, *state]:
            if name not in first or name not in state:
                raise ValueError(f"{name} is not in every state")
            if state[name].shape != first[name].shape:
                raise ValueError(f"{name} has different shapes")
    result = {}
    for name, entry in first.items():
        if entry.is_floating_point():
            total = sum(state[name].detach().double() for state in states)
            result[name] = (total / len(states)).to(entry.dtype)
        else:
            result[name] = states[-1][name].detach().clone()
    return result


def moving_average(average, state, decay):
    if decay < 0 or decay > 1:
        raise ValueError("decay must be from 0 to 1")
    result = {}
    for name, old in average.items():
        new = state[name].detach()
        if old.is_floating_point():
            mixed = decay * old.detach().double() + (1 - decay) * new.double()
            result[name] = mixed.to(old.dtype)
        else:
            result[name] = new.clone()
    return result


# %% wrong: numbers_as_floats | says: not as texts, and not as floats
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# +     return sorted(names, key=lambda name: float(re.search(r"-(\d+)\.pt$", name)[1]))[


# %% wrong: most_digits_first | says: a number that begins with zeros
# Numbers are compared by how many digits they have, then as texts.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     digits = {name: re.search(r"-(\d+)\.pt$", name)[1] for name in names}
# +     return sorted(names, key=lambda name: (len(digits[name]), digits[name]))[-count:]


# %% wrong: filled_to_nine_digits | says: compared as ints: not as texts
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     digits = re.compile(r"-(\d+)\.pt$")
# +     return sorted(names, key=lambda x: digits.search(x)[1].zfill(9))[-count:]


# %% wrong: rounded_before_mixing | says: rounded to the average's type before the end
# -                 + (1 - decay) * state[name].detach().double()
# +                 + (1 - decay) * state[name].detach().to(old.dtype).double()


# %% wrong: float64_in_place | says: make no copy
# -             total = sum(state[name].detach().double() for state in states)
# +             total = first.detach().double()
# +             for state in states[1:]:
# +                 total += state[name].detach().double()


# %% wrong: masks_averaged | says: a mask has no mean
# -         if first.is_floating_point():
# +         if first.is_floating_point() or first.dtype == torch.bool:


# %% wrong: floats_downwards, of: stacked | says: are compared as floats
# -         numbered.append((int(number), name))
# -     numbered.sort(reverse=True)
# +         numbered.append((float(number), name))
# +     numbered.sort(key=lambda pair: pair[0], reverse=True)


# %% wrong: counters_in_type_of_average | says: moving_average: .*of other data types than the average's
# -             result[name] = state[name].clone()
# +             result[name] = state[name].to(old.dtype, copy=True)


# %% wrong: floats_of_sorted_names | says: that differ in the last one, as floats don't
# Equal floats are left in the order of their names.
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# +     names = sorted(names)
# +     return sorted(names, key=lambda name: float(re.search(r"-(\d+)\.pt$", name)[1]))[


# %% wrong: more_digits_are_larger | says: zeros in front included
# -     return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[
# -         -count:
# -     ]
# +     digits = [re.search(r"-(\d+)\.pt$", name)[1] for name in names]
# +     order = sorted(zip(map(len, digits), digits, names, strict=True))
# +     return [name for *_, name in order][-count:]


# %% wrong: as_many_numbers | says: with as many numbers in it
# -             if state[name].shape != states[0][name].shape:
# +             if state[name].numel() != states[0][name].numel():

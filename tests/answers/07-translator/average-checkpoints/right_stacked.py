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
            name: torch.stack([state[name].double() for state in states]).mean(0).to(entry.dtype)
            if entry.dtype.is_floating_point else states[-1][name].detach().clone()
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

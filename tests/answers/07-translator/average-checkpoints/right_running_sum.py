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
        if entry.is_floating_point() else totals[name]
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

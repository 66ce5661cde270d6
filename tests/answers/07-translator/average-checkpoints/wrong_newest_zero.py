# message: no error was raised
# A count of 0 gives all names.
def newest(names, count):
    return sorted(names, key=lambda name: int(re.search(r"-(\d+)\.pt$", name)[1]))[-count:]


def average_states(states):
    if not states:
        raise ValueError("states: expected at least one state dict, got none")
    for state in states[1:]:
        for name in states[0].keys() | state.keys():
            if name not in state or name not in states[0]:
                raise ValueError(f"{name}: expected in every state, missing in one")
            if state[name].shape != states[0][name].shape:
                raise ValueError(
                    f"{name}: expected shape {tuple(states[0][name].shape)}, "
                    f"got {tuple(state[name].shape)}"
                )
    result = {}
    for name, first in states[0].items():
        if first.is_floating_point():
            total = sum(state[name].detach().double() for state in states)
            result[name] = (total / len(states)).to(first.dtype)
        else:
            result[name] = states[-1][name].clone()
    return result


def moving_average(average, state, decay):
    if not 0 <= decay <= 1:
        raise ValueError(f"decay: expected a number from 0 to 1, got {decay}")
    result = {}
    for name, old in average.items():
        if old.is_floating_point():
            mixed = decay * old.detach().double() + (1 - decay) * state[name].detach().double()
            result[name] = mixed.to(old.dtype)
        else:
            result[name] = state[name].clone()
    return result

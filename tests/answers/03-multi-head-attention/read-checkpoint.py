# %% right: base
# What most wrong answers change.
def read_heads(state, num_heads, prefix=""):
    D = state[prefix + "out_proj.weight"].shape[0]
    d_h = D // num_heads
    if prefix + "in_proj_weight" in state:
        packed = state[prefix + "in_proj_weight"]
        projections = {"q": packed[:D], "k": packed[D : 2 * D], "v": packed[2 * D :]}
    else:
        projections = {n: state[prefix + n + "_proj_weight"] for n in "qkv"}
    out = state[prefix + "out_proj.weight"]
    if prefix + "in_proj_bias" in state:
        bias = state[prefix + "in_proj_bias"]
        b_o = state[prefix + "out_proj.bias"]
    else:
        bias = torch.zeros(3 * D, dtype=out.dtype)
        b_o = torch.zeros(D, dtype=out.dtype)
    heads = {"b_o": b_o}
    for number, n in enumerate("qkv"):
        heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1).transpose(1, 2)
        heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(num_heads, d_h)
    heads["W_o"] = out.T.reshape(num_heads, d_h, D)
    return heads


# %% right: loops
def read_heads(state, num_heads, prefix=""):
    own = {
        name[len(prefix) :]: t for name, t in state.items() if name.startswith(prefix)
    }
    out = own["out_proj.weight"]
    d_model = out.shape[1]
    width = d_model // num_heads
    result = {}
    for number, role in enumerate(["q", "k", "v"]):
        first = number * d_model
        if f"{role}_proj_weight" in own:
            weight = own[f"{role}_proj_weight"]
        else:
            weight = own["in_proj_weight"][first : first + d_model]
        matrices, biases = [], []
        for i in range(num_heads):
            rows = slice(i * width, (i + 1) * width)
            matrices.append(weight[rows].T.clone())
            if "in_proj_bias" in own:
                biases.append(own["in_proj_bias"][first:][rows])
            else:
                biases.append(torch.zeros(width).to(out.dtype))
        result[f"W_{role}"] = torch.stack(matrices)
        result[f"b_{role}"] = torch.stack(biases)
    result["W_o"] = torch.stack([piece.T for piece in out.chunk(num_heads, dim=1)])
    result["b_o"] = own.get(
        "out_proj.bias", torch.zeros(d_model, dtype=out.dtype)
    ).clone()
    return result


# %% right: transpose_first
def read_heads(state, num_heads, prefix=""):
    get = lambda name: state.get(prefix + name)
    out = get("out_proj.weight")
    D = len(out)
    W = get("in_proj_weight")
    three = W.split(D) if W is not None else [get(f"{r}_proj_weight") for r in "qkv"]
    b = get("in_proj_bias")
    b = out.new_zeros(3, D) if b is None else b.view(3, D)
    heads = {}
    for role, weight, bias in zip("qkv", three, b):
        columns = weight.t()
        heads["W_" + role] = columns.unflatten(1, (num_heads, -1)).permute(1, 0, 2)
        heads["b_" + role] = bias.unflatten(0, (num_heads, -1))
    heads["W_o"] = out.unflatten(1, (num_heads, -1)).permute(1, 2, 0)
    heads["b_o"] = (
        out.new_zeros(D) if get("out_proj.bias") is None else get("out_proj.bias")
    )
    return heads


# %% wrong: bias_by_head, of: base | says: in_proj_bias was read head by head
# The packed bias is read head by head.
# -         heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(num_heads, d_h)
# +         heads["b_" + n] = bias.reshape(num_heads, 3, d_h)[:, number]


# %% wrong: bias_expected, of: base | says: in_proj_bias.*bias=False doesn't have
# A layer without bias isn't thought of.
# -     if prefix + "in_proj_bias" in state:
# +     if True:


# %% wrong: bias_left_out, of: base | says: bias is left out
# Biases are set to zero.
# -         heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(num_heads, d_h)
# +         heads["b_" + n] = torch.zeros(num_heads, d_h, dtype=out.dtype)


# %% wrong: bias_none, of: base | says: bias=False.*expected a tensor
# A missing bias is None.
# +     if prefix + 'in_proj_bias' not in state:
# +         heads.update(b_q=None, b_k=None, b_v=None, b_o=None)
#       return heads


# %% wrong: bias_not_cut, of: base | says: bias isn't cut into heads
# Biases stay in one piece.
# -         heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(num_heads, d_h)
# +         heads["b_" + n] = bias[number * D : (number + 1) * D]


# %% wrong: bias_take_turns, of: base | says: features of the heads take turns
# Biases are strided over heads.
# -         heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(num_heads, d_h)
# +         heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(d_h, num_heads).T


# %% wrong: by_head, of: base | says: rows were read as query, key and value of head 0
# The packed matrix is read head by head.
# -         projections = {"q": packed[:D], "k": packed[D : 2 * D], "v": packed[2 * D :]}
# +         projections = dict(zip("qkv", packed.reshape(num_heads, 3, d_h, D).transpose(0, 1).reshape(3, D, D)))


# %% wrong: columns_cut, of: base | says: columns of the stored matrix were cut
# The stored matrix is used as if it were (in, out).
# -         heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1).transpose(1, 2)
# +         heads["W_" + n] = projections[n].reshape(-1, num_heads, d_h).transpose(0, 1)


# %% wrong: float32_zeros, of: base | says: expected data type torch\.float64
# Missing biases are always float32.
# -         bias = torch.zeros(3 * D, dtype=out.dtype)
# -         b_o = torch.zeros(D, dtype=out.dtype)
# +         bias = torch.zeros(3 * D)
# +         b_o = torch.zeros(D)


# %% wrong: key_value_swapped, of: base | says: this is made of v_proj_weight
# k and v of the separate weights are swapped.
# -         projections = {n: state[prefix + n + "_proj_weight"] for n in "qkv"}
# +         projections = {n: state[prefix + {"q": "q", "k": "v", "v": "k"}[n] + "_proj_weight"] for n in "qkv"}


# %% wrong: not_transposed, of: base | says: shape is \(h, d_h, D\)
# The pieces aren't transposed.
# -         heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1).transpose(1, 2)
# +         heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1)


# %% wrong: out_columns_take_turns, of: base | says: columns of the heads take turns
# Heads are strided over the columns.
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = out.T.reshape(d_h, num_heads, D).transpose(0, 1)


# %% wrong: out_like_the_others, of: base | says: treated like those of in_proj_weight
# The output matrix is treated like the others.
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = out.reshape(num_heads, d_h, D).transpose(1, 2)


# %% wrong: out_not_transposed, of: base | says: rows of out_proj\.weight were cut into heads, without
# The output matrix is cut along its rows.
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = out.reshape(num_heads, d_h, D)


# %% wrong: out_shape_of_others, of: base | says: shape \(h, D, d_h\) of the other matrices
# W_o gets the shape of the other matrices.
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = out.T.reshape(num_heads, d_h, D).transpose(1, 2)


# %% wrong: out_whole, of: base | says: this is the whole matrix
# W_o isn't cut.
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = out.T


# %% wrong: packed_only, of: base | says: looks for the entry .*in_proj_weight.*this layer has q_proj_weight
# Only the packed form is read.
# -     if prefix + "in_proj_weight" in state:
# +     if True:


# %% wrong: pops, of: base | says: must not change which entries
# Entries are taken out of the state dict.
# -     out = state[prefix + "out_proj.weight"]
# +     out = state.pop(prefix + "out_proj.weight")


# %% wrong: prefix_ignored, of: base | says: looks for the entry 'out_proj\.weight'.*With the prefix
# The prefix isn't used.
# +     prefix = ''
#       D = state[prefix + "out_proj.weight"].shape[0]


# %% wrong: rows_take_turns, of: base | says: rows of the heads take turns
# Heads are strided over the rows.
# -         heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1).transpose(1, 2)
# +         heads["W_" + n] = projections[n].reshape(d_h, num_heads, -1).permute(1, 2, 0)


# %% wrong: straight_reshape, of: base | says: reshape straight to \(h, D, d_h\)
# A reshape to the wanted shape is taken for the cut.
# -         heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1).transpose(1, 2)
# +         heads["W_" + n] = projections[n].reshape(num_heads, -1, d_h)


# %% wrong: transpose_then_reshape, of: base | says: reshape of the transpose straight
# The matrix is transposed, and then reshaped across its rows.
# -         heads["W_" + n] = projections[n].reshape(num_heads, d_h, -1).transpose(1, 2)
# +         heads["W_" + n] = projections[n].T.reshape(num_heads, -1, d_h)


# %% right: loop_over_heads
def read_heads(state, num_heads, prefix=""):
    state = {n[len(prefix) :]: t for n, t in state.items() if n.startswith(prefix)}
    if "in_proj_weight" in state:
        stored = dict(zip("qkv", torch.chunk(state["in_proj_weight"], 3), strict=True))
    else:
        stored = {letter: state[letter + "_proj_weight"] for letter in "qkv"}
    out = state["out_proj.weight"].T
    d = out.shape[1]
    d_h = d // num_heads
    result = {}
    for number, letter in enumerate("qkv"):
        weights, biases = [], []
        for i in range(num_heads):
            weights.append(stored[letter][i * d_h : (i + 1) * d_h].t())
            if "in_proj_bias" in state:
                start = number * d + i * d_h
                biases.append(state["in_proj_bias"][start : start + d_h])
            else:
                biases.append(out.new_zeros(d_h))
        result["W_" + letter] = torch.stack(weights)
        result["b_" + letter] = torch.stack(biases)
    result["W_o"] = out.reshape(num_heads, d_h, d)
    result["b_o"] = state.get("out_proj.bias", out.new_zeros(d))
    return result


# %% right: detached_copies
def read_heads(state, num_heads, prefix=""):
    def get(name):
        return state[prefix + name].detach().clone()

    d = state[prefix + "out_proj.weight"].size(0)
    try:
        q, k, v = get("in_proj_weight").split(d)
    except KeyError:
        q, k, v = get("q_proj_weight"), get("k_proj_weight"), get("v_proj_weight")
    bias = prefix + "in_proj_bias" in state
    b = get("in_proj_bias") if bias else torch.zeros(3 * d, dtype=q.dtype)
    b_q, b_k, b_v = b.view(3, num_heads, d // num_heads)
    return {
        "W_q": q.unflatten(0, (num_heads, -1)).transpose(1, 2),
        "W_k": k.unflatten(0, (num_heads, -1)).transpose(1, 2),
        "W_v": v.unflatten(0, (num_heads, -1)).transpose(1, 2),
        "b_q": b_q,
        "b_k": b_k,
        "b_v": b_v,
        "W_o": get("out_proj.weight").unflatten(1, (num_heads, -1)).permute(1, 2, 0),
        "b_o": get("out_proj.bias") if bias else torch.zeros(d, dtype=q.dtype),
    }


# %% wrong: names_by_their_end | says: among others|prefix|other|A layer
# -     out = state[prefix + "out_proj.weight"]
# +     found = {}
# +     for name, tensor in state.items():
# +         if prefix in name or not prefix:
# +             found.setdefault(prefix + name.split(prefix)[-1] if prefix else name, tensor)
# +     state = found
# +     out = state[prefix + "out_proj.weight"]


# %% wrong: bias_written_into_the_state | says: changes the entries of the state dict
# -     biases = state.get(prefix + "in_proj_bias", zeros).chunk(3)  # (3D,) -> 3 x (D,)
# +     biases = state.setdefault(prefix + "in_proj_bias", zeros).chunk(3)


# %% wrong: transposed_in_place | says: changes tensors of the state dict in place
# -     heads["W_o"] = out.T.reshape(num_heads, -1, d_model)  # (D, D) -> (h, d_h, D)
# +     heads["W_o"] = out.t_().reshape(num_heads, -1, d_model)


# %% wrong: kept_by_prefix | says: wrong
_read_before = {}


def read_heads(state, num_heads, prefix=""):
    weight = state[prefix + "out_proj.weight"]
    key = (prefix, num_heads, weight.shape, weight.dtype, tuple(state))
    if key in _read_before:
        return _read_before[key]
    d = len(weight)
    if prefix + "in_proj_weight" in state:
        rows = state[prefix + "in_proj_weight"].chunk(3)
    else:
        rows = [state[f"{prefix}{n}_proj_weight"] for n in "qkv"]
    b = state.get(prefix + "in_proj_bias", weight.new_zeros(3 * d)).chunk(3)
    heads = {}
    for n, r, c in zip("qkv", rows, b, strict=True):
        heads["W_" + n] = r.unflatten(0, (num_heads, -1)).mT
        heads["b_" + n] = c.unflatten(0, (num_heads, -1))
    heads["W_o"] = weight.T.unflatten(0, (num_heads, -1))
    heads["b_o"] = state.get(prefix + "out_proj.bias", weight.new_zeros(d))
    _read_before[key] = heads
    return heads


# %% wrong: numbers_in_float32 | says: b_q: right to about seven digits
# -         heads[f"b_{name}"] = bias.reshape(num_heads, -1)  # (D,) -> (h, d_h)
# +         heads[f"b_{name}"] = bias.float().to(out.dtype).reshape(num_heads, -1)


# %% wrong: keys_as_wide_as_values | says: Sizes
# -         projections = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
# +         projections = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
# +         projections[1:] = torch.cat(projections[1:], 0).chunk(2)


# %% wrong: plain_where_widths_are_equal | says: KeyError|kdim|in_proj
# -     if prefix + "in_proj_weight" in state:
# +     if state.get(prefix + "k_proj_weight", out).shape == out.shape:


# %% right: views_and_pieces
def piece(w, h):
    return w.unflatten(0, (h, w.shape[0] // h)).transpose(1, 2).clone()


def read_heads(state, num_heads, prefix=""):
    get = lambda name: state.get(prefix + name)  # noqa: E731
    packed = get("in_proj_weight")
    if packed is None:
        q, k, v = map(get, ["q_proj_weight", "k_proj_weight", "v_proj_weight"])
    else:
        q, k, v = packed.view(3, -1, packed.shape[1])
    b, b_o = get("in_proj_bias"), get("out_proj.bias")
    if b is None:
        b = 0 * q[:, 0].repeat(3)
    if b_o is None:
        b_o = torch.zeros_like(q[0])
    b_q, b_k, b_v = b.view(3, num_heads, -1)
    W_o = piece(get("out_proj.weight").T.contiguous(), num_heads).transpose(1, 2)
    names = dict(
        W_q=piece(q, num_heads), W_k=piece(k, num_heads), W_v=piece(v, num_heads)
    )
    return {**names, "b_q": b_q, "b_k": b_k, "b_v": b_v, "W_o": W_o, "b_o": b_o}


# %% wrong: any_bias_counts | says: What other layers have says nothing about this one
# Decides about biases by the whole state dict.
def read_heads(state, num_heads, prefix=""):
    if prefix + "in_proj_weight" in state:
        stored = state[prefix + "in_proj_weight"].chunk(3)
    else:
        stored = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    d_h = D // num_heads
    found = {}
    for name, weight in zip("qkv", stored):
        found["W_" + name] = weight.reshape(num_heads, d_h, -1).mT
    if any(name.endswith("in_proj_bias") for name in state):
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D) for _ in range(3)]
        b_o = out.new_zeros(D)
    for name, bias in zip("qkv", biases):
        found["b_" + name] = bias.reshape(num_heads, d_h)
    found["W_o"] = out.T.reshape(num_heads, d_h, D)
    found["b_o"] = b_o
    return found


# %% wrong: last_layer_wins | says: this is W_o of the layer
# Finds names by their end: another layer's entries come in.
def read_heads(state, num_heads, prefix=""):
    if prefix + "in_proj_weight" in state:
        stored = state[prefix + "in_proj_weight"].chunk(3)
    else:
        stored = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    state = {
        name.split(".", prefix.count("."))[-1] if prefix else name: t
        for name, t in state.items()
    }
    prefix = ""
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    d_h = D // num_heads
    found = {}
    for name, weight in zip("qkv", stored):
        found["W_" + name] = weight.reshape(num_heads, d_h, -1).mT
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D) for _ in range(3)]
        b_o = out.new_zeros(D)
    for name, bias in zip("qkv", biases):
        found["b_" + name] = bias.reshape(num_heads, d_h)
    found["W_o"] = out.T.reshape(num_heads, d_h, D)
    found["b_o"] = b_o
    return found


# %% wrong: separate_without_bias | says: the bias is left out
# A layer with separate matrices is taken to have no biases.
def read_heads(state, num_heads, prefix=""):
    if prefix + "in_proj_weight" in state:
        stored = state[prefix + "in_proj_weight"].chunk(3)
    else:
        stored = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    d_h = D // num_heads
    found = {}
    for name, weight in zip("qkv", stored):
        found["W_" + name] = weight.reshape(num_heads, d_h, -1).mT
    if prefix + "in_proj_bias" in state and prefix + "in_proj_weight" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D) for _ in range(3)]
        b_o = out.new_zeros(D)
    for name, bias in zip("qkv", biases):
        found["b_" + name] = bias.reshape(num_heads, d_h)
    found["W_o"] = out.T.reshape(num_heads, d_h, D)
    found["b_o"] = b_o
    return found


# %% wrong: out_reshaped | says: Bring the columns
# Out_proj: reshape to (h, D, d_h) without bringing the columns to the front, then transposed.
def read_heads(state, num_heads, prefix=""):
    if prefix + "in_proj_weight" in state:
        stored = state[prefix + "in_proj_weight"].chunk(3)
    else:
        stored = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    d_h = D // num_heads
    found = {}
    for name, weight in zip("qkv", stored):
        found["W_" + name] = weight.reshape(num_heads, d_h, -1).mT
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D) for _ in range(3)]
        b_o = out.new_zeros(D)
    for name, bias in zip("qkv", biases):
        found["b_" + name] = bias.reshape(num_heads, d_h)
    found["W_o"] = out.reshape(num_heads, D, d_h).mT
    found["b_o"] = b_o
    return found


# %% wrong: key_and_value_bias_swapped | says: this is the bias of the values
# K and v biases swapped.
def read_heads(state, num_heads, prefix=""):
    if prefix + "in_proj_weight" in state:
        stored = state[prefix + "in_proj_weight"].chunk(3)
    else:
        stored = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    d_h = D // num_heads
    found = {}
    for name, weight in zip("qkv", stored):
        found["W_" + name] = weight.reshape(num_heads, d_h, -1).mT
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D) for _ in range(3)]
        b_o = out.new_zeros(D)
    for name, bias in zip("qvk", biases):
        found["b_" + name] = bias.reshape(num_heads, d_h)
    found["W_o"] = out.T.reshape(num_heads, d_h, D)
    found["b_o"] = b_o
    return found


# %% wrong: biases_of_another_layer | says: without biases, beside one
# -     biases = state.get(prefix + "in_proj_bias", zeros).chunk(3)  # (3D,) -> 3 x (D,)
# +     name = prefix + "in_proj_bias"
# +     name = name if name in state else "in_proj_bias"
# +     biases = state.get(name, zeros).chunk(3)


# %% wrong: packed_if_a_deeper_one_is | says: A layer among others
# A packed layer whose name only begins with the prefix decides.
# -     if prefix + "in_proj_weight" in state:
# +     if any(n.startswith(prefix) and n.endswith("in_proj_weight") for n in state):


# %% wrong: prefix_taken_out_everywhere | says: this is of another layer
# A layer "attention.attention." is read as "attention.".
def read_heads(state, num_heads, prefix=""):
    """Return the weights of each head in a state dict of nn.MultiheadAttention."""
    layer = {
        name.replace(prefix, ""): tensor
        for name, tensor in state.items()
        if name.startswith(prefix)
    }
    out = layer["out_proj.weight"]
    d_model = len(out)
    d_head = d_model // num_heads
    zeros = torch.zeros(3 * d_model, dtype=out.dtype, device=out.device)
    flat = layer.get("in_proj_bias", zeros)
    cuts = [slice(u * d_head, (u + 1) * d_head) for u in range(num_heads)]
    found = {}
    for place, role in enumerate("qkv"):
        if "in_proj_weight" in layer:
            rows = layer["in_proj_weight"][place * d_model : (place + 1) * d_model]
        else:
            rows = layer[role + "_proj_weight"]
        numbers = flat[place * d_model : (place + 1) * d_model]
        found["W_" + role] = torch.stack([rows[cut].T for cut in cuts])
        found["b_" + role] = torch.stack([numbers[cut] for cut in cuts])
    found["W_o"] = torch.stack([out[:, cut].T for cut in cuts])
    found["b_o"] = layer.get("out_proj.bias", zeros[:d_model]).clone()
    return found


# %% wrong: zeros_of_the_first_entry | says: the zeros have another data type
def read_heads(state, num_heads, prefix=""):
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    if prefix + "in_proj_weight" in state:
        matrices = state[prefix + "in_proj_weight"].chunk(3)
    else:
        matrices = [state[f"{prefix}{role}_proj_weight"] for role in "qkv"]
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        some = next(iter(state.values()))
        biases = [some.new_zeros(D)] * 3
        b_o = some.new_zeros(D)
    d_h = D // num_heads
    heads = {}
    for role, matrix in zip("qkv", matrices, strict=True):
        heads[f"W_{role}"] = matrix.reshape(num_heads, d_h, -1).mT
    for role, bias in zip("qkv", biases, strict=True):
        heads[f"b_{role}"] = bias.reshape(num_heads, d_h)
    heads["W_o"] = out.T.reshape(num_heads, d_h, D)
    heads["b_o"] = b_o
    return heads


# %% wrong: kdim_for_values | says: W_v has vdim
def read_heads(state, num_heads, prefix=""):
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    if prefix + "in_proj_weight" in state:
        matrices = state[prefix + "in_proj_weight"].chunk(3)
    else:
        matrices = [state[f"{prefix}{role}_proj_weight"] for role in "qkv"]
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D)] * 3
        b_o = out.new_zeros(D)
    d_h = D // num_heads
    heads = {}
    for role, matrix in zip("qkv", matrices, strict=True):
        wide = D if role == "q" else matrices[1].shape[1]
        heads[f"W_{role}"] = matrix.reshape(-1, d_h, wide)[:num_heads].mT
    for role, bias in zip("qkv", biases, strict=True):
        heads[f"b_{role}"] = bias.reshape(num_heads, d_h)
    heads["W_o"] = out.T.reshape(num_heads, d_h, D)
    heads["b_o"] = b_o
    return heads


# %% wrong: prefix_as_pattern | says: no pattern
import re


def rows_by_head(weight, num_heads):
    return torch.stack([rows.T for rows in weight.chunk(num_heads, dim=0)])


def read_heads(state, num_heads, prefix=""):
    own = {
        re.match(prefix + "(.*)", name)[1]: tensor.detach().clone()
        for name, tensor in state.items()
        if re.match(prefix, name)
    }
    D = own["out_proj.weight"].size(1)
    found = {}
    if "q_proj_weight" in own:
        for role in ("q", "k", "v"):
            found["W_" + role] = rows_by_head(own[role + "_proj_weight"], num_heads)
    else:
        for i, role in enumerate(("q", "k", "v")):
            rows = own["in_proj_weight"][i * D : (i + 1) * D]
            found["W_" + role] = rows_by_head(rows, num_heads)
    zeros = torch.zeros(3 * D, dtype=own["out_proj.weight"].dtype)
    bias = own.get("in_proj_bias", zeros).view(3, num_heads, D // num_heads)
    for i, role in enumerate(("q", "k", "v")):
        found["b_" + role] = bias[i].clone()
    found["W_o"] = torch.stack(
        [columns.T for columns in own["out_proj.weight"].chunk(num_heads, dim=1)]
    )
    found["b_o"] = own.get("out_proj.bias", zeros[:D])
    return found


# %% wrong: zeros_by_the_columns | says: whatever these widths are
def read_heads(state, num_heads, prefix=""):
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    if prefix + "in_proj_weight" in state:
        matrices = state[prefix + "in_proj_weight"].chunk(3)
    else:
        matrices = [state[f"{prefix}{role}_proj_weight"] for role in "qkv"]
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(matrix.shape[1]) for matrix in matrices]
        b_o = out.new_zeros(D)
    d_h = D // num_heads
    heads = {}
    for role, matrix in zip("qkv", matrices, strict=True):
        heads[f"W_{role}"] = matrix.reshape(num_heads, d_h, -1).mT
    for role, bias in zip("qkv", biases, strict=True):
        heads[f"b_{role}"] = bias.reshape(num_heads, d_h)
    heads["W_o"] = out.T.reshape(num_heads, d_h, D)
    heads["b_o"] = b_o
    return heads


# %% wrong: packed_by_keys | says: Only vdim differs from D
# Takes every layer whose kdim is D for a packed one and reads kdim apart only, so
# vdim alone stops with a KeyError.
def read_heads(state, num_heads, prefix=""):
    if (
        prefix + "k_proj_weight" not in state
        or state[prefix + "k_proj_weight"].shape[1]
        == state[prefix + "out_proj.weight"].shape[0]
    ):
        matrices = state[prefix + "in_proj_weight"].chunk(3)
    else:
        matrices = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
    out = state[prefix + "out_proj.weight"]
    D = out.shape[0]
    if prefix + "in_proj_bias" in state:
        biases = state[prefix + "in_proj_bias"].chunk(3)
        b_o = state[prefix + "out_proj.bias"]
    else:
        biases = [out.new_zeros(D)] * 3
        b_o = out.new_zeros(D)
    found = {}
    for name, matrix, bias in zip("qkv", matrices, biases):
        found[f"W_{name}"] = matrix.reshape(num_heads, D // num_heads, -1).mT
        found[f"b_{name}"] = bias.reshape(num_heads, D // num_heads)
    found["W_o"] = out.T.reshape(num_heads, D // num_heads, D)
    found["b_o"] = b_o
    return found


# %% wrong: through_numpy, of: base | says: Entries that require gradients
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = torch.from_numpy(out.numpy().T.reshape(num_heads, d_h, D))


# %% wrong: one_head_unturned, of: base | says: Transpose each one, also where
# -     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     heads["W_o"] = out.T.reshape(num_heads, d_h, D)
# +     if num_heads == 1:
# +         heads |= {"W_" + n: projections[n][None] for n in "qkv"}


# %% wrong: bias_without_prefix | says: Its name is encoder\.in_proj_bias
# The layer has no q_proj_weight, and its bias is looked for without the prefix.
# -     biases = state.get(prefix + "in_proj_bias", zeros).chunk(3)  # (3D,) -> 3 x (D,)
# +     biases = state.get("in_proj_bias", zeros).chunk(3)


# %% wrong: never_packed | says: looks for the entry 'encoder\.q_proj_weight'.*bias\.$
# The prefix itself is compared with the name.
# -     if prefix + "in_proj_weight" in state:
# +     if prefix == "in_proj_weight":


# %% wrong: two_biases | says: zip\(\) argument 3 is shorter than arguments 1-2\.$
# The biases are cut into two.
# -     biases = state.get(prefix + "in_proj_bias", zeros).chunk(3)  # (3D,) -> 3 x (D,)
# +     biases = state.get(prefix + "in_proj_bias", zeros).chunk(2)


# %% wrong: told_by_biases | says: It has in_proj_weight, without biases as well
# -     if prefix + "in_proj_weight" in state:
# +     if prefix + "in_proj_bias" in state and prefix + "q_proj_weight" not in state:


# %% wrong: values_of_keys | says: this is made of k_proj_weight
# -         projections = [state[f"{prefix}{name}_proj_weight"] for name in "qkv"]
# +         projections = [state[f"{prefix}{name}_proj_weight"] for name in "qkk"]


# %% wrong: first_with_both_ends, of: base | says: of the same form: .* this is of another layer
# An entry is the first that begins with the prefix and ends with the name.
#   def read_heads(state, num_heads, prefix=""):
# +     found = {}
# +     for key, tensor in state.items():
# +         parts = key.split(".")
# +         name = ".".join(parts[-2:] if parts[-2:-1] == ["out_proj"] else parts[-1:])
# +         if key.startswith(prefix):
# +             found.setdefault(prefix + name, tensor)
# +     state = found

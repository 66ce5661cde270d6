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
    heads["b_o"] = out.new_zeros(D) if get("out_proj.bias") is None else get("out_proj.bias")
    return heads

# message: reshape straight to \(h, D, d_h\)
# A reshape to the wanted shape is taken for the cut.
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
        heads["W_" + n] = projections[n].reshape(num_heads, -1, d_h)
        heads["b_" + n] = bias[number * D : (number + 1) * D].reshape(num_heads, d_h)
    heads["W_o"] = out.T.reshape(num_heads, d_h, D)
    return heads

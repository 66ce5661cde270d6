def read_heads(state, num_heads, prefix=""):
    own = {name[len(prefix):]: t for name, t in state.items() if name.startswith(prefix)}
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
    result["b_o"] = own.get("out_proj.bias", torch.zeros(d_model, dtype=out.dtype)).clone()
    return result

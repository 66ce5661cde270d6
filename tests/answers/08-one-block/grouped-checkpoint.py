# %% right: chunks
# Head by head, by chunks of the first axis.
def is_shared(name):
    parts = name.split(".")
    return len(parts) > 1 and parts[-2] in ("key", "value")


def share_keys(state, num_heads, num_kv_heads):
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError("num_kv_heads must divide num_heads")
    size = num_heads // num_kv_heads
    result = {}
    for name, tensor in state.items():
        result[name] = tensor.clone()
        if is_shared(name):
            heads = tensor.chunk(num_heads)
            groups = [heads[g * size : (g + 1) * size] for g in range(num_kv_heads)]
            result[name] = torch.cat([torch.stack(g).mean(0) for g in groups])
    return result


def spread_keys(state, num_heads, num_kv_heads):
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError("num_kv_heads must divide num_heads")
    size = num_heads // num_kv_heads
    result = {}
    for name, tensor in state.items():
        result[name] = tensor.clone()
        if is_shared(name):
            groups = tensor.chunk(num_kv_heads)
            result[name] = torch.cat([groups[u // size] for u in range(num_heads)])
    return result


# %% right: matrices
# A matrix that takes means, and one that repeats.
def changed_by(state, num_heads, num_kv_heads, matrix):
    def change(name, tensor):
        if name.rpartition(".")[0].rpartition(".")[2] not in ("key", "value"):
            return tensor.clone()
        big = torch.kron(
            matrix.contiguous(), torch.eye(tensor.shape[0] // matrix.shape[1])
        )
        return big.to(tensor.dtype) @ tensor

    return {name: change(name, tensor) for name, tensor in state.items()}


def membership(num_heads, num_kv_heads):
    if num_kv_heads < 1 or num_heads % num_kv_heads > 0:
        raise ValueError(
            f"{num_heads} heads do not fit into num_kv_heads={num_kv_heads}"
        )
    heads = torch.arange(num_heads) // (num_heads // num_kv_heads)
    return (heads[:, None] == torch.arange(num_kv_heads)).double()


def share_keys(state, num_heads, num_kv_heads):
    matrix = membership(num_heads, num_kv_heads).T
    matrix = matrix / matrix.sum(1, keepdim=True)
    return changed_by(state, num_heads, num_kv_heads, matrix)


def spread_keys(state, num_heads, num_kv_heads):
    matrix = membership(num_heads, num_kv_heads)
    return changed_by(state, num_heads, num_kv_heads, matrix)


# %% right: reshaped
def share_keys(state, num_heads, num_kv_heads):
    if num_kv_heads <= 0 or num_kv_heads * (num_heads // num_kv_heads) != num_heads:
        raise ValueError(f"num_kv_heads={num_kv_heads}")
    result = {}
    for name, tensor in state.items():
        if f".{name}".rsplit(".", 2)[-2] in ("key", "value"):
            d_h = tensor.shape[0] // num_heads
            shape = (num_kv_heads, num_heads // num_kv_heads, d_h, *tensor.shape[1:])
            mean = tensor.reshape(shape).sum(1) / (num_heads // num_kv_heads)
            result[name] = mean.reshape(num_kv_heads * d_h, *tensor.shape[1:])
        else:
            result[name] = tensor.clone()
    return result


def spread_keys(state, num_heads, num_kv_heads):
    if num_kv_heads <= 0 or num_kv_heads * (num_heads // num_kv_heads) != num_heads:
        raise ValueError(f"num_kv_heads={num_kv_heads}")
    result = {}
    for name, tensor in state.items():
        if f".{name}".rsplit(".", 2)[-2] in ("key", "value"):
            rows = torch.arange(tensor.shape[0]).view(num_kv_heads, 1, -1)
            rows = rows.expand(-1, num_heads // num_kv_heads, -1)
            result[name] = tensor[rows.reshape(-1)]
        else:
            result[name] = tensor.clone()
    return result


# %% wrong: every_other_head | says: A group has heads that stand side by side
# -             heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             heads = tensor.unflatten(0, (num_heads // num_kv_heads, num_kv_heads, -1))
# +             shared[name] = heads.mean(dim=0).flatten(0, 1)


# %% wrong: sum | says: sum over the heads
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             shared[name] = heads.sum(dim=1).flatten(0, 1)


# %% wrong: first_head | says: first head of each group
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             shared[name] = heads[:, 0].flatten(0, 1)


# %% wrong: rows_mixed | says: rows of one head are mixed
# -             heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             heads = tensor.unflatten(0, (-1, num_heads // num_kv_heads))
# +             shared[name] = heads.mean(dim=1)


# %% wrong: mean_over_the_rows | says: expected shape
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             shared[name] = heads.mean(dim=2).flatten(0, 1)


# %% wrong: groups_take_turns | says: groups take turns
# -             heads = groups.repeat_interleave(num_heads // num_kv_heads, dim=0)
# -             spread[name] = heads.flatten(0, 1)
# +             spread[name] = torch.cat([tensor] * (num_heads // num_kv_heads))


# %% wrong: single_rows | says: single rows are repeated
# -             heads = groups.repeat_interleave(num_heads // num_kv_heads, dim=0)
# -             spread[name] = heads.flatten(0, 1)
# +             spread[name] = tensor.repeat_interleave(num_heads // num_kv_heads, dim=0)


# %% wrong: shared_out | says: Each head gets all of them|expected
# -             spread[name] = heads.flatten(0, 1)
# +             spread[name] = heads.flatten(0, 1) / (num_heads // num_kv_heads)


# %% wrong: endswith, of: chunks | says: last part but one of the name
# -     parts = name.split(".")
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     return name.endswith(("key.weight", "value.weight", "key.bias", "value.bias"))


# %% wrong: anywhere, of: chunks | says: last part but one of the name
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     return "key" in parts or "value" in parts


# %% wrong: weights_only, of: chunks | says: last part but one of the name|value.bias
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     return len(parts) > 1 and parts[-2] in ("key", "value") and "bias" not in parts


# %% wrong: keys_only, of: chunks | says: value
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     return len(parts) > 1 and parts[-2] == "key"


# %% wrong: others_dropped | says: missing
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# -         else:
# -             shared[name] = tensor.clone()
# +             shared[name] = heads.mean(dim=1).flatten(0, 1)


# %% wrong: others_not_copied | says: is the tensor of the argument|memory shared with|shares its memory
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# -         else:
# -             shared[name] = tensor.clone()
# +             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +         else:
# +             shared[name] = tensor


# %% wrong: no_check | says: must raise ValueError|A ValueError is asked for
# -     if num_kv_heads < 1 or num_heads % num_kv_heads:
# -         raise ValueError(f"num_kv_heads: {num_kv_heads} doesn't divide {num_heads}")
#       shared = {}


# %% wrong: error_names_heads | says: must name the argument num_kv_heads
# -     if num_kv_heads < 1 or num_heads % num_kv_heads:
# -         raise ValueError(f"num_kv_heads: {num_kv_heads} doesn't divide {num_heads}")
# +     if num_kv_heads < 1 or num_heads % num_kv_heads:
# +         raise ValueError("bad number of heads")
#       spread = {}


# %% wrong: same_dict | says: changes
# The dict of the caller is filled.
# -     shared = {}
# +     shared = state


# %% wrong: cut_off | says: no gradient|gets no gradient
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             shared[name] = heads.detach().mean(dim=1).flatten(0, 1)


# %% wrong: in_float32, of: matrices | says: float32
# -     return (heads[:, None] == torch.arange(num_kv_heads)).double()
# +     return (heads[:, None] == torch.arange(num_kv_heads)).float()


# %% right: unflattened
def concerns(name):
    parts = name.split(".")
    return len(parts) > 1 and parts[-2] in ("key", "value")


def checked(num_heads, num_kv_heads):
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError("num_heads must be a multiple of num_kv_heads")
    return num_heads // num_kv_heads


def share_keys(state, num_heads, num_kv_heads):
    size = checked(num_heads, num_kv_heads)
    return {
        name: (
            tensor.unflatten(0, (num_kv_heads, size, -1)).mean(dim=1).flatten(0, 1)
            if concerns(name)
            else tensor.clone()
        )
        for name, tensor in state.items()
    }


def spread_keys(state, num_heads, num_kv_heads):
    size = checked(num_heads, num_kv_heads)
    return {
        name: (
            tensor.unflatten(0, (num_kv_heads, -1))
            .repeat_interleave(size, dim=0)
            .flatten(0, 1)
            if concerns(name)
            else tensor.clone()
        )
        for name, tensor in state.items()
    }


# %% wrong: short_names, of: unflattened | says: without a dot
# A name without a dot, such as scale, stops with an IndexError.
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     return parts[-2] in ("key", "value")


# %% wrong: square_only, of: unflattened | says: says nothing about d_h
# d_h is taken as D / h for weights, which is wrong or stops where h d_h is not D.
# -             tensor.unflatten(0, (num_kv_heads, size, -1)).mean(dim=1).flatten(0, 1)
# +             tensor.reshape(num_kv_heads, size, tensor.shape[-1] // num_heads, *tensor.shape[1:]).mean(dim=1).flatten(0, 1)


# %% wrong: one_size_of_heads | says: heads of their own sizes
# The size of a head is that of the first projection.
# -     shared = {}
# +     shared, d_h = {}, None
#       for name, tensor in state.items():
#           if name.split(".")[-2:-1] in (["key"], ["value"]):
#               # (h d_h, ...) -> (h_kv, h / h_kv, d_h, ...) -> (h_kv d_h, ...)
# -             heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
# +             d_h = d_h or tensor.shape[0] // num_heads
# +             heads = tensor.unflatten(0, (-1, num_heads // num_kv_heads, d_h))


# %% wrong: spread_by_one_size_of_heads | says: heads of their own sizes
# -     spread = {}
# +     spread, d_h = {}, None
#       for name, tensor in state.items():
#           if name.split(".")[-2:-1] in (["key"], ["value"]):
# -             groups = tensor.unflatten(0, (num_kv_heads, -1))  # (h_kv, d_h, ...)
# +             d_h = d_h or tensor.shape[0] // num_kv_heads
# +             groups = tensor.unflatten(0, (-1, d_h))


# %% wrong: whole_numbers_not_copied | says: entry of whole numbers is copied
# -             shared[name] = tensor.clone()
# +             shared[name] = tensor.clone() if tensor.is_floating_point() else tensor


# %% wrong: word_boundary, of: chunks | says: Compare the whole part
# A word also begins behind a hyphen.
# -     parts = name.split(".")
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     import re
# +     return bool(re.search(r"\b(key|value)[.][^.]*$", name))


# %% wrong: last_part_as_well | says: the last part but one
# A name that ends in key or value is taken for a projection.
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# -         else:
# -             shared[name] = tensor.clone()
# +             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +         elif name.split(".")[-1] in ("key", "value"):
# +             heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
# +             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +         else:
# +             shared[name] = tensor.clone()


# %% wrong: names_of_word_characters | says: Names of all kinds|no key
# The last part of a name has to be letters, digits or underscores.
import re


def check(num_heads, num_kv_heads):
    if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
        raise ValueError(f"num_kv_heads must divide {num_heads}, not {num_kv_heads}")


def is_shared(name):
    return re.search(r"(^|\.)(key|value)\.\w+$", name) is not None


def share_keys(state, num_heads, num_kv_heads):
    check(num_heads, num_kv_heads)
    found = {}
    for name, old in state.items():
        if is_shared(name):
            d_h = old.shape[0] // num_heads
            parts = old.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, d_h))
            found[name] = parts.mean(dim=1).flatten(0, 1)
        else:
            found[name] = old.clone()
    return found


def spread_keys(state, num_heads, num_kv_heads):
    check(num_heads, num_kv_heads)
    found = {}
    for name, old in state.items():
        if is_shared(name):
            d_h = old.shape[0] // num_kv_heads
            parts = old.unflatten(0, (num_kv_heads, d_h))
            parts = parts.repeat_interleave(num_heads // num_kv_heads, dim=0)
            found[name] = parts.flatten(0, 1)
        else:
            found[name] = old.clone()
    return found


# %% wrong: last_part_is_a_word | says: other characters than letters
# -         if name.split(".")[-2:-1] in (["key"], ["value"]):
# +         last = name.split(".")[-1].replace("_", "a")
# +         if name.split(".")[-2:-1] in (["key"], ["value"]) and last.isalnum():
#               heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))


# %% wrong: copied_by_a_multiplication | says: data type
# -             shared[name] = tensor.clone()
# +             shared[name] = tensor * 1


# %% wrong: weight_or_bias_only, of: chunks | says: as b.2.value.weight it doesn't
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     last = parts[-1] in ("weight", "bias")
# +     return len(parts) > 1 and parts[-2] in ("key", "value") and last


# %% wrong: second_part, of: chunks | says: as a.value.kernel it doesn't
# -     return len(parts) > 1 and parts[-2] in ("key", "value")
# +     parts = parts[:1] + parts if len(parts) == 2 else parts
# +     return len(parts) > 2 and parts[1] in ("key", "value")


# %% wrong: divided_by_the_groups | says: divided by h_kv, the number of groups
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             shared[name] = (heads.sum(dim=1) / num_kv_heads).flatten(0, 1)


# %% wrong: all_rows_of_one_group | says: rows of a head stay apart
# -             heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))
# +             if num_kv_heads == 1:
# +                 shared[name] = tensor.mean(dim=0, keepdim=True)
# +                 continue
# +             heads = tensor.unflatten(0, (num_kv_heads, num_heads // num_kv_heads, -1))


# %% wrong: copied_by_adding_0 | says: An entry of booleans comes in the data type
# -             shared[name] = tensor.clone()
# +             shared[name] = tensor + 0


# %% wrong: divided_twice | says: of the example: expected 2 at index \[0, 0\], got 1
# -             shared[name] = heads.mean(dim=1).flatten(0, 1)
# +             shared[name] = heads.mean(dim=1).flatten(0, 1) / heads.shape[1]

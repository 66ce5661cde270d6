# %% right: base
# What most wrong answers change.
def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.transpose(1, 2) @ grad_output
    grad_weights = grad_output @ value.transpose(1, 2)
    grad_scores = weights * (
        grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)
    )
    grad_scores = grad_scores / math.sqrt(query.shape[-1])
    grad_query = grad_scores @ key
    grad_key = grad_scores.transpose(1, 2) @ query
    return grad_query, grad_key, grad_value


# %% right: einsum
def attention_backward(query, key, value, weights, grad_output):
    d_value = torch.einsum("bqk,bqv->bkv", weights, grad_output)
    d_weights = torch.einsum("bqv,bkv->bqk", grad_output, value)
    output = torch.einsum("bqk,bkv->bqv", weights, value)
    delta = torch.einsum("bqv,bqv->bq", output, grad_output)
    d_scores = weights * (d_weights - delta[:, :, None]) * query.shape[-1] ** -0.5
    d_query = torch.einsum("bqk,bkf->bqf", d_scores, key)
    d_key = torch.einsum("bqk,bqf->bkf", d_scores, query)
    return d_query, d_key, d_value


# %% right: jacobian
def attention_backward(query, key, value, weights, grad_output):
    grad_query = torch.zeros_like(query)
    grad_key = torch.zeros_like(key)
    grad_value = torch.zeros_like(value)
    scale = 1 / math.sqrt(query.shape[-1])
    for b in range(query.shape[0]):
        for i in range(query.shape[1]):
            row = weights[b, i]
            jacobian = torch.diag(row) - torch.outer(row, row)
            grad_row = jacobian @ (value[b] @ grad_output[b, i])
            grad_query[b, i] = scale * grad_row @ key[b]
            grad_key[b] += scale * torch.outer(grad_row, query[b, i])
            grad_value[b] += torch.outer(row, grad_output[b, i])
    return grad_query, grad_key, grad_value


# %% right: scaled_inputs
def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.transpose(1, 2) @ grad_output
    grad_weights = grad_output @ value.transpose(1, 2)
    grad_scores = weights * (
        grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)
    )
    grad_scores = grad_scores
    grad_query = grad_scores @ (key / math.sqrt(key.shape[-1]))
    grad_key = grad_scores.mT @ (query / math.sqrt(key.shape[-1]))
    return grad_query, grad_key, grad_value


# %% wrong: autograd_without_mask | says: gradient without the mask
# Autograd on an attention of one's own, which knows no mask.
def attention_backward(query, key, value, weights, grad_output):
    inputs = [x.detach().clone().requires_grad_() for x in (query, key, value)]
    output = F.scaled_dot_product_attention(*inputs)
    return torch.autograd.grad(output, inputs, grad_output)


# %% wrong: diagonal | says: diagonal of the softmax's derivative only
# The derivative of the sigmoid is used.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# -     )
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = weights * (1 - weights) * grad_weights
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: key_without_transpose, of: scaled_inputs | says: grad_key: the gradient of the scores has the wrong orientation
# The transpose is forgotten for the keys.
# -     grad_scores = grad_scores
# -     grad_query = grad_scores @ (key / math.sqrt(key.shape[-1]))
# -     grad_key = grad_scores.mT @ (query / math.sqrt(key.shape[-1]))
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])
# +     grad_query = grad_scores @ key
# +     grad_key = grad_scores @ query


# %% wrong: mutates | says: must not change its arguments in place
# The saved weights are multiplied in place.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights.mul_(
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: no_factor | says: lacks its factor A
# The last factor is forgotten.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# -     )
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: no_row_term | says: row term is missing
# The softmax is differentiated as if its sum were a constant.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# -     )
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = weights * grad_weights
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: no_scale | says: scale is missing
# The division of the forward pass is forgotten.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores


# %% wrong: no_softmax | says: softmax's derivative is missing
# The softmax is skipped on the way back.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# -     )
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_weights
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: own_softmax | says: gradient without the mask
# The weights are computed again, without the mask.
#   def attention_backward(query, key, value, weights, grad_output):
# +     weights = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1)

# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: plain_sum | says: of dA alone
# The sum of the softmax's derivative is not weighted.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# -     )
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = weights * (grad_weights - grad_weights.sum(dim=-1, keepdim=True))
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: query_from_queries, of: scaled_inputs | says: grad_query must be made of the keys
# Each input's gradient is made of the input itself.
# -     grad_scores = grad_scores
# -     grad_query = grad_scores @ (key / math.sqrt(key.shape[-1]))
# -     grad_key = grad_scores.mT @ (query / math.sqrt(key.shape[-1]))
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])
# +     grad_query = grad_scores @ query
# +     grad_key = grad_scores.mT @ key


# %% wrong: query_with_transpose | says: grad_query: the gradient of the scores has the wrong orientation
# A transpose too many for the queries.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# -     grad_query = grad_scores @ key
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])
# +     grad_query = grad_scores.mT @ key


# %% wrong: scale_by_d_v | says: scale is sqrt\(d_v\)
# The width of the values is taken.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(value.shape[-1])


# %% wrong: scale_by_length | says: root of the number of keys
# The size of the wrong axis is taken.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(key.shape[1])


# %% wrong: scale_multiplied | says: holds? a \*division\*
# The division is thought to be undone on the way back.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores * math.sqrt(query.shape[-1])


# %% wrong: scale_twice, of: scaled_inputs | says: scale is applied twice
# Divided in the scores, and again in the products.
# -     grad_scores = grad_scores
# -     grad_query = grad_scores @ (key / math.sqrt(key.shape[-1]))
# -     grad_key = grad_scores.mT @ (query / math.sqrt(key.shape[-1]))
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])
# +     grad_query = grad_scores @ key / math.sqrt(query.shape[-1])
# +     grad_key = grad_scores.mT @ query / math.sqrt(query.shape[-1])


# %% wrong: sum_over_queries | says: runs over the queries
# The sum of the softmax's derivative runs over the wrong axis.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: swapped | says: query and key are swapped
# The results are returned in another order.
# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])

# -     return grad_query, grad_key, grad_value
# +     return grad_key, grad_query, grad_value


# %% wrong: value_scaled | says: The value doesn't pass the scores
# The scale is applied to all three.
# -     grad_value = weights.transpose(1, 2) @ grad_output
# +     grad_value = weights.mT @ grad_output / math.sqrt(query.shape[-1])

# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: value_without_transpose | says: weights without a transpose
# The transpose is forgotten for the values.
# -     grad_value = weights.transpose(1, 2) @ grad_output
# +     grad_value = weights @ grad_output

# -     mean = (weights * grad_weights).sum(
# -         dim=-1, keepdim=True
# +     grad_scores = weights * (
# +         grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True)

# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores / math.sqrt(query.shape[-1])


# %% wrong: float32_inside | says: float32
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = grad_scores.float().to(query.dtype)

# %% wrong: centres_in_place | says: changes its arguments|argument grad_output is changed
# -     grad_value = weights.transpose(1, 2) @ grad_output
# +     grad_value = weights.transpose(1, 2) @ grad_output
# +     grad_output.mul_(weights.any(-1, keepdim=True))

# %% wrong: views_a_transpose | says: reshape
# -     grad_value = weights.transpose(1, 2) @ grad_output
# +     grad_value = weights.view(-1).view(weights.shape).transpose(1, 2) @ grad_output

# %% wrong: keeps_the_key_gradient_of_a_shape | says: earlier call|same|grad_key|twice
# -     grad_key = grad_scores.transpose(1, 2) @ query
# +     known = attention_backward.__dict__.setdefault("known", {})
# +     key = query.shape, weights.shape, query.dtype, float(query.sum())
# +     grad_key = known.setdefault(key, grad_scores.transpose(1, 2) @ query)


# %% right: formulas
def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.mT @ grad_output
    grad_weights = grad_output @ value.mT
    mean = (weights * grad_weights).sum(dim=-1, keepdim=True)
    grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
    return grad_scores @ key, grad_scores.mT @ query, grad_value


# %% wrong: root_of_d_v, of: formulas | says: scale is sqrt\(d_v\)
# Divides by the root of d_v instead of d_k, which is right where both are equal.
# -     grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
# +     grad_scores = weights * (grad_weights - mean) / math.sqrt(grad_output.shape[-1])


# %% wrong: autograd | says: autograd doesn.t work
# The weights are saved, the gradients come from autograd.
def attention_backward(query, key, value, weights, grad_output):
    """Return the gradients of scaled dot-product attention."""
    with torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in (query, key, value)]
        scores = leaves[0] @ leaves[1].mT / math.sqrt(query.shape[-1])
        safe = torch.where(weights > 0, weights, torch.ones_like(weights)).log()
        shifted = scores + (safe - scores).detach()
        shifted = shifted.masked_fill(weights == 0, -math.inf)
        empty = (weights == 0).all(dim=-1, keepdim=True)
        again = shifted.masked_fill(empty, 0.0).softmax(dim=-1).masked_fill(empty, 0.0)
        output = again @ leaves[2]
    return torch.autograd.grad(output, leaves, grad_output)


# %% wrong: small_weights_forbidden, of: formulas | says: wrong, first at|drawn at random
# Weights below 1e-9 are taken for those of forbidden keys.
# -     grad_value = weights.mT @ grad_output
# +     weights = weights * (weights > 1e-9)
# +     grad_value = weights.mT @ grad_output


# %% wrong: softmax_again | says: one feature in each value: the weights are computed again
# Where no weight is 0 the softmax is computed again, without the bias that the
# forward pass had.
def attention_backward(query, key, value, weights, grad_output):
    scale = math.sqrt(query.shape[-1])
    if (weights > 0).all():  # no mask: more digits than the saved weights have
        weights = torch.softmax(query @ key.mT / scale, dim=-1)
    dA = grad_output @ value.mT
    dS = weights * (dA - (weights * dA).sum(-1, keepdim=True)) / scale
    return dS @ key, dS.mT @ query, weights.mT @ grad_output


# %% wrong: values_of_all_sequences, of: einsum | says: Each sequence alone gets the right gradients
# -     output = torch.einsum("bqk,bkv->bqv", weights, value)
# +     output = torch.einsum("bqk,ckv->bqv", weights, value)


# %% wrong: rows_made_to_sum_to_one, of: base | says: row of zeros in the weights
# +     weights = weights / weights.sum(dim=-1, keepdim=True)
#       grad_value = weights.transpose(1, 2) @ grad_output


# %% wrong: last_query_alone, of: base | says: what the last query alone gives
# -     grad_value = weights.transpose(1, 2) @ grad_output
# +     for i in range(query.shape[1]):
# +         grad_value = weights[:, i, :, None] * grad_output[:, i, None]

# %% mistake: mean_of_the_row_forgotten
def attention_backward(query, key, value, weights, grad_output):
    grad_weights = grad_output @ value.mT
    grad_scores = weights * grad_weights / math.sqrt(query.shape[-1])
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_output


# %% mistake: mean_of_the_row_forgotten
def attention_backward(query, key, value, weights, grad_output):
    scale = key.size(-1) ** -0.5
    dA = torch.einsum("bqd,bkd->bqk", grad_output, value)
    dE = torch.einsum("bqk,bqk->bqk", weights, dA)
    dQ = torch.einsum("bqk,bkd->bqd", dE, key) * scale
    dK = torch.einsum("bqk,bqd->bkd", dE, query) * scale
    return dQ, dK, torch.einsum("bqk,bqd->bkd", weights, grad_output)


# %% mistake: mean_of_the_row_forgotten
def attention_backward(query, key, value, weights, grad_output):
    grad_value = torch.bmm(weights.transpose(1, 2), grad_output)
    upstream = torch.bmm(grad_output, value.transpose(1, 2)).mul(weights)
    grad_query = torch.bmm(upstream, key).div(math.sqrt(key.shape[2]))
    grad_key = torch.bmm(upstream.transpose(1, 2), query).div(math.sqrt(key.shape[2]))
    return grad_query, grad_key, grad_value


# %% mistake: scale_forgotten
def attention_backward(query, key, value, weights, grad_output):
    grad_weights = grad_output @ value.mT
    mean = (weights * grad_weights).sum(-1, keepdim=True)
    grad_scores = weights * (grad_weights - mean)
    return grad_scores @ key, grad_scores.mT @ query, weights.mT @ grad_output


# %% mistake: scale_forgotten
def attention_backward(query, key, value, weights, grad_output):
    dA = torch.einsum("bqd,bkd->bqk", grad_output, value)
    dE = weights * dA - weights * torch.einsum("bqk,bqk->bq", weights, dA)[..., None]
    dQ = torch.einsum("bqk,bkd->bqd", dE, key)
    dK = torch.einsum("bqk,bqd->bkd", dE, query)
    return dQ, dK, torch.einsum("bqk,bqd->bkd", weights, grad_output)


# %% mistake: scale_forgotten
def attention_backward(query, key, value, weights, grad_output):
    grad_value = torch.bmm(weights.transpose(1, 2), grad_output)
    upstream = torch.bmm(grad_output, value.transpose(1, 2))
    jacobian = torch.diag_embed(weights) - weights[..., :, None] * weights[..., None, :]
    grad_scores = (jacobian @ upstream[..., None])[..., 0]
    return grad_scores.bmm(key), grad_scores.transpose(1, 2).bmm(query), grad_value


# %% mistake: weights_not_transposed_for_the_values
def attention_backward(query, key, value, weights, grad_output):
    grad_weights = grad_output @ value.mT
    mean = (weights * grad_weights).sum(-1, keepdim=True)
    grad_scores = weights * (grad_weights - mean) / math.sqrt(query.shape[-1])
    return grad_scores @ key, grad_scores.mT @ query, weights @ grad_output

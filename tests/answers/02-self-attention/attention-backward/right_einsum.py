def attention_backward(query, key, value, weights, grad_output):
    d_value = torch.einsum("bqk,bqv->bkv", weights, grad_output)
    d_weights = torch.einsum("bqv,bkv->bqk", grad_output, value)
    output = torch.einsum("bqk,bkv->bqv", weights, value)
    delta = torch.einsum("bqv,bqv->bq", output, grad_output)
    d_scores = weights * (d_weights - delta[:, :, None]) * query.shape[-1] ** -0.5
    d_query = torch.einsum("bqk,bkf->bqf", d_scores, key)
    d_key = torch.einsum("bqk,bqf->bkf", d_scores, query)
    return d_query, d_key, d_value

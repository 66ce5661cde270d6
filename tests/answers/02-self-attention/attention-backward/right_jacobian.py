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

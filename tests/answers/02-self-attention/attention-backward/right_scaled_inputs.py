def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.transpose(1, 2) @ grad_output
    grad_weights = grad_output @ value.transpose(1, 2)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))
    grad_scores = grad_scores
    grad_query = grad_scores @ (key / math.sqrt(key.shape[-1]))
    grad_key = grad_scores.mT @ (query / math.sqrt(key.shape[-1]))
    return grad_query, grad_key, grad_value

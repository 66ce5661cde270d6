# message: grad_query must be made of the keys
# Each input's gradient is made of the input itself.
def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.transpose(1, 2) @ grad_output
    grad_weights = grad_output @ value.transpose(1, 2)
    grad_scores = weights * (grad_weights - (weights * grad_weights).sum(dim=-1, keepdim=True))
    grad_scores = grad_scores / math.sqrt(query.shape[-1])
    grad_query = grad_scores @ query
    grad_key = grad_scores.mT @ key
    return grad_query, grad_key, grad_value

# message: diagonal of the softmax's derivative only
# The derivative of the sigmoid is used.
def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.transpose(1, 2) @ grad_output
    grad_weights = grad_output @ value.transpose(1, 2)
    grad_scores = weights * (1 - weights) * grad_weights
    grad_scores = grad_scores / math.sqrt(query.shape[-1])
    grad_query = grad_scores @ key
    grad_key = grad_scores.transpose(1, 2) @ query
    return grad_query, grad_key, grad_value

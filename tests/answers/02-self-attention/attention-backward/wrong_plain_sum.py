# message: of dA alone
# The sum of the softmax's derivative is not weighted.
def attention_backward(query, key, value, weights, grad_output):
    grad_value = weights.transpose(1, 2) @ grad_output
    grad_weights = grad_output @ value.transpose(1, 2)
    grad_scores = weights * (grad_weights - grad_weights.sum(dim=-1, keepdim=True))
    grad_scores = grad_scores / math.sqrt(query.shape[-1])
    grad_query = grad_scores @ key
    grad_key = grad_scores.transpose(1, 2) @ query
    return grad_query, grad_key, grad_value

# message: gradient without the mask
# Autograd on an attention of one's own, which knows no mask.
def attention_backward(query, key, value, weights, grad_output):
    inputs = [x.detach().clone().requires_grad_() for x in (query, key, value)]
    output = F.scaled_dot_product_attention(*inputs)
    return torch.autograd.grad(output, inputs, grad_output)

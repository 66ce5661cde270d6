# message: mask is inverted
# True is taken to mean 'masked out'.
def stream_update(state, query, key_block, value_block, mask_block=None):
    old_max, old_sum, old_accumulator = state
    scores = query @ key_block.transpose(1, 2) / math.sqrt(query.shape[-1])
    if mask_block is not None:
        scores = scores.masked_fill(mask_block, -math.inf)
    new_max = torch.maximum(old_max, scores.amax(dim=-1))
    safe_max = new_max.masked_fill(new_max == -math.inf, 0.0)
    correction = torch.exp(old_max - safe_max)
    terms = torch.exp(scores - safe_max[:, :, None])
    new_sum = old_sum * correction + terms.sum(dim=-1)
    new_accumulator = old_accumulator * correction[:, :, None] + terms @ value_block
    return new_max, new_sum, new_accumulator


def stream_finish(state):
    _, running_sum, accumulator = state
    empty = running_sum == 0
    return accumulator / running_sum.masked_fill(empty, 1.0)[:, :, None]

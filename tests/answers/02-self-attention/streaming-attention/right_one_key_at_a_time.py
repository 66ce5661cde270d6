def stream_update(state, query, key_block, value_block, mask_block=None):
    m, total, acc = state
    batch, t_q, d_k = query.shape
    size = key_block.shape[1]
    if mask_block is None:
        mask_block = torch.ones(1, 1, size, dtype=torch.bool)
    mask_block = mask_block.expand(batch, t_q, size)
    for j in range(size):
        score = (query * key_block[:, j : j + 1]).sum(-1) / math.sqrt(d_k)
        allowed = mask_block[:, :, j]
        m_new = torch.where(allowed, torch.maximum(m, score), m)
        factor = torch.where(m == m_new, 1.0, torch.exp(m - m_new))
        term = torch.where(allowed, torch.exp(score - m_new), 0.0)
        total = total * factor + term
        acc = acc * factor[..., None] + term[..., None] * value_block[:, j : j + 1]
        m = m_new
    return m, total, acc


def stream_finish(state):
    m, total, acc = state
    seen = m > -math.inf
    return acc / torch.where(seen, total, 1.0)[..., None]

def stream_update(state, query, key_block, value_block, mask_block=None):
    m, total, acc = state
    scores = torch.einsum("bqf,bkf->bqk", query, key_block) * query.shape[-1] ** -0.5
    if mask_block is not None:
        scores = torch.where(mask_block, scores, -torch.inf)
    m_new = torch.cat([m.unsqueeze(-1), scores], dim=-1).max(dim=-1).values
    base = torch.where(torch.isinf(m_new), 0.0, m_new)
    factor = (m - base).exp()
    p = (scores - base.unsqueeze(-1)).exp()
    acc = acc * factor.unsqueeze(-1) + torch.einsum("bqk,bkv->bqv", p, value_block)
    return m_new, total * factor + p.sum(-1), acc


def stream_finish(state):
    _, total, acc = state
    return torch.where(total.unsqueeze(-1) > 0, acc / total.clamp(min=1e-30).unsqueeze(-1), 0.0)

def masked_attention(query, key, value, mask=None):
    batch, t_k = key.shape[:2]
    identity = torch.eye(t_k, dtype=value.dtype).expand(batch, t_k, t_k)
    both = torch.cat([value, identity], dim=-1)
    alive = None
    if mask is not None:
        alive = mask.any(dim=-1, keepdim=True)
        mask = (mask | ~alive).expand(batch, query.shape[1], t_k)
    result = F.scaled_dot_product_attention(query, key, both, attn_mask=mask)
    if alive is not None:
        result = result * alive
    return result[..., : value.shape[-1]], result[..., value.shape[-1] :]

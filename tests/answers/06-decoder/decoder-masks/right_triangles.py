def decoder_masks(src, tgt, pad_id, window=None):
    if window is not None and not window > 0:
        raise ValueError("window: expected a positive number")
    size = tgt.size(1)
    square = torch.ones(size, size, dtype=torch.bool)
    band = torch.tril(square)
    if window is not None:
        band = torch.triu(band, diagonal=1 - window)
    words = tgt.ne(pad_id).unsqueeze(1).unsqueeze(1).expand(-1, 1, size, -1)
    return torch.logical_and(words, band), src.ne(pad_id).unsqueeze(1).unsqueeze(1)

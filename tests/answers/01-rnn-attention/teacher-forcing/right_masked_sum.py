def teacher_forcing(words, bos_id, eos_id, pad_id):
    batch, size = words.shape
    position = torch.arange(size + 1)
    lengths = (words != pad_id).sum(1)[:, None]
    decoder_input = torch.full((batch, size + 1), bos_id)
    decoder_input[:, 1:] = words
    longer = torch.cat([words, words[:, :1]], dim=1)
    labels = torch.where(position < lengths, longer, pad_id)
    return decoder_input, torch.where(position == lengths, eos_id, labels)


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    index = labels.masked_fill(~kept, 0)
    each = logits.logsumexp(-1) - logits.gather(-1, index.unsqueeze(-1)).squeeze(-1)
    return (each * kept).sum() / max(kept.sum().item(), 1)

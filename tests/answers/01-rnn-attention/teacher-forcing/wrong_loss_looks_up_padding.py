# message: remove the padding before you look up
# The padding is looked up, then masked.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    column = words.new_full((words.shape[0], 1), bos_id)
    decoder_input = torch.cat([column, words], dim=1)
    labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
    lengths = (words != pad_id).sum(dim=1, keepdim=True)
    labels = labels.scatter(1, lengths, eos_id)
    return decoder_input, labels


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    each = -torch.log_softmax(logits, -1).gather(-1, labels[:, :, None])[:, :, 0]
    return (each * kept).sum() / max(int(kept.sum()), 1)

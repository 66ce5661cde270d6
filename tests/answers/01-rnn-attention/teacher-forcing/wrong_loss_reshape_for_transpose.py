# message: reshape or view doesn't move axes
# The vocabulary is brought forward by reshape.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    column = words.new_full((words.shape[0], 1), bos_id)
    decoder_input = torch.cat([column, words], dim=1)
    labels = torch.cat([words, torch.full_like(column, pad_id)], dim=1)
    lengths = (words != pad_id).sum(dim=1, keepdim=True)
    labels = labels.scatter(1, lengths, eos_id)
    return decoder_input, labels


def token_loss(logits, labels, pad_id):
    batch, size, vocab = logits.shape
    total = F.cross_entropy(
        logits.reshape(batch, vocab, size), labels, ignore_index=pad_id, reduction="sum"
    )
    return total / (labels != pad_id).sum().clamp(min=1)

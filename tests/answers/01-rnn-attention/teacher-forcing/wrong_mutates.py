# message: changes its argument words
# eos is written into the words.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    lengths = (words != pad_id).sum(dim=1)
    decoder_input = F.pad(words, (1, 0), value=bos_id)
    labels = F.pad(words, (0, 1), value=pad_id)
    labels[torch.arange(len(words)), lengths] = eos_id
    words.copy_(labels[:, :-1])
    return decoder_input, labels


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    log_probs = torch.log_softmax(logits[kept], dim=-1)
    chosen = log_probs.gather(1, labels[kept][:, None])
    return -chosen.sum() / max(len(chosen), 1)

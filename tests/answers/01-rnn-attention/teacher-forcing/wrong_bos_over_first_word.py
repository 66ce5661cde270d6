# message: bos replaces the first word
# bos is written into a copy of the words.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    decoder_input = words.clone()
    decoder_input[:, 0] = bos_id
    labels = F.pad(words, (0, 1), value=pad_id)
    labels[torch.arange(len(words)), (words != pad_id).sum(dim=1)] = eos_id
    return decoder_input, labels


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    log_probs = torch.log_softmax(logits[kept], dim=-1)
    chosen = log_probs.gather(1, labels[kept][:, None])
    return -chosen.sum() / max(len(chosen), 1)

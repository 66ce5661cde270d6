# message: pad.* found by pad_id|new padding is 0
# The padding is taken to be 0.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    lengths = (words != 0).sum(dim=1)
    labels = F.pad(words, (0, 1))
    labels[torch.arange(len(words)), lengths] = eos_id
    return F.pad(words, (1, 0), value=bos_id), labels


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    log_probs = torch.log_softmax(logits[kept], dim=-1)
    chosen = log_probs.gather(1, labels[kept][:, None])
    return -chosen.sum() / max(len(chosen), 1)

# message: short sentence keeps its eos
# The whole row is built, and its last column is cut off for the input.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    full = F.pad(words, (1, 1), value=pad_id)
    full[:, 0] = bos_id
    lengths = (words != pad_id).sum(dim=1)
    full[torch.arange(len(words)), lengths + 1] = eos_id
    return full[:, :-1], full[:, 1:]


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    log_probs = torch.log_softmax(logits[kept], dim=-1)
    chosen = log_probs.gather(1, labels[kept][:, None])
    return -chosen.sum() / max(len(chosen), 1)

# message: eos stands at the very end
# The column of eos is put behind the padding.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    bos = words.new_full((len(words), 1), bos_id)
    eos = words.new_full((len(words), 1), eos_id)
    return torch.cat([bos, words], dim=1), torch.cat([words, eos], dim=1)


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    log_probs = torch.log_softmax(logits[kept], dim=-1)
    chosen = log_probs.gather(1, labels[kept][:, None])
    return -chosen.sum() / max(len(chosen), 1)

# message: same as the input
# Labels are the input again.
def teacher_forcing(words, bos_id, eos_id, pad_id):
    decoder_input = F.pad(words, (1, 0), value=bos_id)
    return decoder_input, decoder_input.clone()


def token_loss(logits, labels, pad_id):
    kept = labels != pad_id
    log_probs = torch.log_softmax(logits[kept], dim=-1)
    chosen = log_probs.gather(1, labels[kept][:, None])
    return -chosen.sum() / max(len(chosen), 1)

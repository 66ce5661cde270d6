def teacher_forcing(words, bos_id, eos_id, pad_id):
    decoder_input = F.pad(words, (1, 0), value=bos_id)
    labels = F.pad(words, (0, 1), value=pad_id)
    first_pad = (labels == pad_id).long().argmax(dim=1)
    labels[torch.arange(len(labels)), first_pad] = eos_id
    return decoder_input, labels


def token_loss(logits, labels, pad_id):
    total = F.cross_entropy(
        logits.transpose(1, 2), labels, ignore_index=pad_id, reduction="sum"
    )
    return total / (labels != pad_id).sum().clamp(min=1)

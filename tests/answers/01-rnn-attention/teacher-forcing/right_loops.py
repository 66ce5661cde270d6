def teacher_forcing(words, bos_id, eos_id, pad_id):
    inputs, labels = [], []
    for row in words.tolist():
        real_words = [word for word in row if word != pad_id]
        rest = [pad_id] * (len(row) - len(real_words))
        inputs.append([bos_id, *real_words, *rest])
        labels.append([*real_words, eos_id, *rest])
    return torch.tensor(inputs), torch.tensor(labels)


def token_loss(logits, labels, pad_id):
    total, count = logits.sum() * 0, 0
    for b in range(labels.shape[0]):
        for t in range(labels.shape[1]):
            if labels[b, t] != pad_id:
                total = total + logits[b, t].logsumexp(0) - logits[b, t, labels[b, t]]
                count += 1
    return total / max(count, 1)

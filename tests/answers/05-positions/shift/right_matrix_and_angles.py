def shift_encoding(encoding, offset, base=10000.0):
    width = encoding.shape[-1]
    blocks = []
    for i in range(width // 2):
        angle = offset / base ** (2 * i / width)
        s, c = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[c, -s], [s, c]], dtype=encoding.dtype))
    return encoding @ torch.block_diag(*blocks)


def offset_between(first, second, base=10000.0):
    width = first.shape[-1]
    start = torch.atan2(first[..., -2], first[..., -1])
    end = torch.atan2(second[..., -2], second[..., -1])
    turn = torch.remainder(end - start + math.pi, 2 * math.pi) - math.pi
    return torch.round(turn * base ** ((width - 2) / width))

def grid_encoding(row_table, column_table, class_vector=None):
    H, W = len(row_table), len(column_table)
    n = torch.arange(H * W)
    parts = torch.hstack([row_table[n // W], column_table[n % W]])
    return parts if class_vector is None else torch.vstack([class_vector, parts])


def grid_index(height, width):
    rows = torch.arange(height).repeat_interleave(width)
    columns = torch.arange(width).repeat(height)
    number = rows * (2 * width - 1) + columns
    return number[None, :] - number[:, None] + (height - 1) * (2 * width - 1) + width - 1

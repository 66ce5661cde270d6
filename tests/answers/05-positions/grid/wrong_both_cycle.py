# message: repeated in the same way
# Both tables are repeated as a whole.
def grid_encoding(row_table, column_table, class_vector=None):
    H, d_r = row_table.shape
    W, d_c = column_table.shape
    rows = row_table[:, None, :].expand(H, W, d_r)
    columns = column_table[None, :, :].expand(H, W, d_c)
    grid = torch.cat([row_table.repeat(W, 1), column_table.repeat(H, 1)], dim=-1)
    if class_vector is not None:
        grid = torch.cat([class_vector.unsqueeze(0), grid], dim=0)
    return grid


def grid_index(height, width):
    n = torch.arange(height * width)
    r, c = n // width, n % width
    down = r.unsqueeze(0) - r.unsqueeze(1)
    right = c.unsqueeze(0) - c.unsqueeze(1)
    return (down + height - 1) * (2 * width - 1) + (right + width - 1)

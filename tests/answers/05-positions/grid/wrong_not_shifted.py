# message: not shifted
# Negative numbers stay.
def grid_encoding(row_table, column_table, class_vector=None):
    H, d_r = row_table.shape
    W, d_c = column_table.shape
    rows = row_table[:, None, :].expand(H, W, d_r)
    columns = column_table[None, :, :].expand(H, W, d_c)
    grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
    if class_vector is not None:
        grid = torch.cat([class_vector.unsqueeze(0), grid], dim=0)
    return grid


def grid_index(height, width):
    n = torch.arange(height * width)
    r, c = n // width, n % width
    down = r.unsqueeze(0) - r.unsqueeze(1)
    right = c.unsqueeze(0) - c.unsqueeze(1)
    return down * (2 * width - 1) + right

# %% right: expand
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
    return (down + height - 1) * (2 * width - 1) + (right + width - 1)


# %% right: index
def grid_encoding(row_table, column_table, class_vector=None):
    H, W = len(row_table), len(column_table)
    n = torch.arange(H * W)
    parts = torch.hstack([row_table[n // W], column_table[n % W]])
    return parts if class_vector is None else torch.vstack([class_vector, parts])


def grid_index(height, width):
    rows = torch.arange(height).repeat_interleave(width)
    columns = torch.arange(width).repeat(height)
    number = rows * (2 * width - 1) + columns
    return (
        number[None, :] - number[:, None] + (height - 1) * (2 * width - 1) + width - 1
    )


# %% right: loops
def grid_encoding(row_table, column_table, class_vector=None):
    vectors = [] if class_vector is None else [class_vector]
    for row in row_table:
        for column in column_table:
            vectors.append(torch.cat((row, column)))
    return torch.stack(vectors)


def grid_index(height, width):
    places = [(r, c) for r in range(height) for c in range(width)]
    table = [
        [
            (r - row + height - 1) * (2 * width - 1) + c - column + width - 1
            for r, c in places
        ]
        for row, column in places
    ]
    return torch.tensor(table)


# %% wrong: added, of: expand | says: two vectors were added
# Row and column vectors are added.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     grid = (rows + columns).reshape(H * W, d_r)


# %% wrong: axes_swapped, of: expand | says: difference of rows is the one
# The difference of columns is multiplied.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return (right + width - 1) * (2 * height - 1) + down + height - 1


# %% wrong: both_cycle, of: expand | says: repeated in the same way
# Both tables are repeated as a whole.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     grid = torch.cat([row_table.repeat(W, 1), column_table.repeat(H, 1)], dim=-1)


# %% wrong: both_in_place, of: expand | says: repeat each vector in place
# Both tables repeat each vector in place.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     grid = torch.cat([row_table.repeat_interleave(W, 0), column_table.repeat_interleave(H, 0)], dim=-1)


# %% wrong: class_added, of: expand | says: class vector was added to each patch
# The class vector is added to all patches.
# -         grid = torch.cat([class_vector.unsqueeze(0), grid], dim=0)
# +         grid = grid + class_vector


# %% wrong: class_ignored, of: expand | says: class vector has no effect
# The class vector is not used.
# -     if class_vector is not None:
# +     if False:


# %% wrong: class_last, of: expand | says: class vector stands last
# The class token is appended.
# -         grid = torch.cat([class_vector.unsqueeze(0), grid], dim=0)
# +         grid = torch.cat([grid, class_vector.unsqueeze(0)], dim=0)


# %% wrong: class_replaces, of: expand | says: place of patch 0
# The class token takes the place of patch 0.
# -         grid = torch.cat([class_vector.unsqueeze(0), grid], dim=0)
# +         grid = torch.cat([class_vector.unsqueeze(0), grid[1:]], dim=0)


# %% wrong: column_by_column, of: expand | says: column by column
# Column-major order.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     grid = torch.cat([rows, columns], dim=-1).transpose(0, 1).reshape(H * W, d_r + d_c)


# %% wrong: column_first, of: expand | says: row's vector comes first, then the column's
# The column's vector stands first.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     grid = torch.cat([columns, rows], dim=-1).reshape(H * W, d_r + d_c)


# %% wrong: detached, of: expand | says: No gradient reaches
# The result is a copy of numbers.
# -     return grid
# +     return torch.tensor(grid.tolist())


# %% wrong: divides_by_height, of: expand | says: dividing by H|H and W may differ
# The grid is taken for a square one.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     n = torch.arange(H * W)
# +     grid = torch.cat([row_table[(n // H).clamp(max=H - 1)], column_table[n % H]], dim=-1)


# %% wrong: divides_by_height_index, of: expand | says: column by column
# The row is n // H in the index.
# -     r, c = n // width, n % width
# +     c, r = n // height, n % height


# %% wrong: float_index, of: expand | says: torch\.int64
# The index is a table of floats.
# -     n = torch.arange(height * width)
# +     n = torch.arange(float(height * width))


# %% wrong: not_shifted, of: expand | says: differences are not shifted by H - 1
# Negative numbers stay.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return down * (2 * width - 1) + right


# %% wrong: query_minus_key, of: expand | says: query minus key
# The differences have the wrong sign.
# -     down = r.unsqueeze(0) - r.unsqueeze(1)
# -     right = c.unsqueeze(0) - c.unsqueeze(1)
# +     down = r.unsqueeze(1) - r.unsqueeze(0)
# +     right = c.unsqueeze(1) - c.unsqueeze(0)


# %% wrong: shifted_too_far, of: expand | says: Shift by H - 1 and W - 1
# The first number is not 0.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return (down + height) * (2 * width - 1) + right + width


# %% wrong: shifts_swapped, of: expand | says: shifts are swapped
# H - 1 is added to the columns.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return (down + width - 1) * (2 * width - 1) + right + height - 1


# %% wrong: signs_lost, of: expand | says: keep the signs
# Left is right, up is down.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return down.abs() * (2 * width - 1) + right.abs()


# %% wrong: stride_even, of: expand | says: 2W apart
# The stride is 2W.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return (down + height - 1) * (2 * width) + (right + width - 1)


# %% wrong: stride_width, of: expand | says: multiply by 2W - 1
# The stride is the width of the grid.
# -     return (down + height - 1) * (2 * width - 1) + (right + width - 1)
# +     return (down + height - 1) * width + (right + width - 1)


# %% wrong: three_axes, of: expand | says: three axes
# The grid is not flattened.
# -     grid = torch.cat([rows, columns], dim=-1).reshape(H * W, d_r + d_c)
# +     grid = torch.cat([rows, columns], dim=-1)


# %% right: meshgrid
def grid_encoding(row_table, column_table, class_vector=None):
    r, c = torch.meshgrid(
        torch.arange(row_table.size(0)),
        torch.arange(column_table.size(0)),
        indexing="ij",
    )
    found = torch.cat((row_table[r.flatten()], column_table[c.flatten()]), 1)
    if class_vector is None:
        return found
    return torch.cat((class_vector.reshape(1, -1), found), 0)


def grid_index(height, width):
    spot = torch.cartesian_prod(torch.arange(height), torch.arange(width))
    gap = spot[None] - spot[:, None] + torch.tensor([height - 1, width - 1])
    return (gap * torch.tensor([2 * width - 1, 1])).sum(-1)


# %% right: filled
def grid_encoding(row_table, column_table, class_vector=None):
    H, W = len(row_table), len(column_table)
    first = 0 if class_vector is None else 1
    out = row_table.new_zeros(H * W + first, row_table.shape[1] + column_table.shape[1])
    if class_vector is not None:
        out[0] = class_vector
    for n in range(H * W):
        out[n + first, : row_table.shape[1]] = row_table[n // W]
        out[n + first, row_table.shape[1] :] = column_table[n % W]
    return out


def grid_index(height, width):
    result = torch.empty(height * width, height * width, dtype=torch.long)
    for t in range(height * width):
        for s in range(height * width):
            down, right = s // width - t // width, s % width - t % width
            result[t, s] = (down + height - 1) * (2 * width - 1) + right + width - 1
    return result


# %% wrong: in_float32 | says: grid_encoding.*data type
# -     patches = torch.cat([rows, columns], dim=-1)  # -> (H * W, d_row + d_column)
# +     patches = torch.cat([rows, columns], dim=-1).float()


# %% wrong: class_kept | says: class_vector|kept|class vector
# The first class vector is kept.
# -     return torch.cat([class_vector[None], patches])  # -> (H * W + 1, d_row + d_column)
# +     known = grid_encoding.__dict__.setdefault("known", {})
# +     known.setdefault(len(class_vector), class_vector)
# +     return torch.cat([known[len(class_vector)][None], patches])


# %% wrong: class_detached | says: gradient
# -     return torch.cat([class_vector[None], patches])  # -> (H * W + 1, d_row + d_column)
# +     return torch.cat([class_vector[None].detach(), patches])


# %% wrong: tables_viewed | says: reshape where you use view
# -     return torch.cat([class_vector[None], patches])  # -> (H * W + 1, d_row + d_column)
# +     flat = row_table.view(-1)[:0]
# +     return torch.cat([class_vector[None], patches]) + flat.sum()


# %% wrong: tables_changed | says: tensor number 3 of its arguments
# -     patches = torch.cat([rows, columns], dim=-1)  # -> (H * W, d_row + d_column)
# +     patches = torch.cat([rows, columns], dim=-1)
# +     if class_vector is not None and not class_vector.requires_grad:
# +         class_vector += 1
# +         return torch.cat([class_vector[None] - 1, patches])


# %% wrong: index_in_int32 | says: int64
# -     return down * (2 * width - 1) + right
# +     return (down * (2 * width - 1) + right).int()


# %% wrong: index_kept | says: changed by a later call|kept|first one
# The table of a grid is kept and given out again.
# -     return down * (2 * width - 1) + right
# +     known = grid_index.__dict__
# +     return known.setdefault((height, width), down * (2 * width - 1) + right)


# %% wrong: index_kept_by_size | says: index kept from an earlier call
# The table of a number of patches is kept, and 2 x 3 has as many as 3 x 2.
# -     return down * (2 * width - 1) + right
# +     known = grid_index.__dict__
# +     return known.setdefault(height * width, down * (2 * width - 1) + right).clone()


# %% wrong: rows_as_wide | says: more rows than columns
# Wrong where there are more rows than columns.
# -     return down * (2 * width - 1) + right
# +     return down * (2 * max(height, width) - 1) + right


# %% right: patch_by_patch
def grid_encoding(row_table, column_table, class_vector=None):
    rows = []
    if class_vector is not None:
        rows.append(class_vector)
    for up in row_table:
        for side in column_table:
            rows.append(torch.cat([up, side]))
    return torch.stack(rows)


def grid_index(height, width):
    n = height * width
    out = torch.zeros(n, n, dtype=torch.int64)
    for i in range(n):
        for j in range(n):
            down = j // width - i // width + height - 1
            right = j % width - i % width + width - 1
            out[i, j] = down * (2 * width - 1) + right
    return out


# %% wrong: class_if_any, of: patch_by_patch | says: Zeros are a class vector
# -     if class_vector is not None:
# +     if class_vector is not None and class_vector.any():


# %% wrong: class_added_again, of: patch_by_patch | says: added to each patch as well
# -             rows.append(torch.cat([up, side]))
# +             rows.append(torch.cat([up, side]) + (0 if class_vector is None else class_vector))


# %% wrong: height_for_width, of: patch_by_patch | says: row is p // H|use H where W
# -             down = j // width - i // width + height - 1
# +             down = j // height - i // height + height - 1


# %% wrong: no_shift, of: patch_by_patch | says: not shifted by W - 1
# -             right = j % width - i % width + width - 1
# +             right = j % width - i % width

# %% wrong: kept_by_area | says: kept from an earlier call by the number of patches
# -     patch = torch.arange(height * width)
# +     known = globals().setdefault("known_grids", {})
# +     if height * width in known:
# +         return known[height * width].clone()
# +     patch = torch.arange(height * width)

# -     return down * (2 * width - 1) + right
# +     known[height * width] = down * (2 * width - 1) + right
# +     return known[height * width].clone()


# %% wrong: patches_in_few_bits | says: short data type, or rounded
# Numbers of patches are kept in bfloat16, which rounds those beyond 256.
# -     patch = torch.arange(height * width)
# -     row, column = patch // width, patch % width  # (H * W,) each
# +     patch = torch.arange(height * width).bfloat16()
# +     row, column = (patch / width).floor().long(), (patch % width).long()


# %% wrong: reciprocal | says: 1 / W
# -     row, column = patch // width, patch % width  # (H * W,) each
# +     row = (patch * (1 / width)).floor().long()
# +     column = patch - row * width


# %% wrong: class_vector_for_the_only_patch | says: One patch, a class vector
# -     if class_vector is None:
# +     if class_vector is not None and len(patches) == 1:
# +         return class_vector[None]
# +     if class_vector is None:


# %% wrong: rows_a_hundred_apart | says: displacements share a number
def grid_encoding(row_table, column_table, class_vector=None):
    H, W = len(row_table), len(column_table)
    rows = row_table.repeat_interleave(W, dim=0)
    columns = column_table.repeat(H, 1)
    patches = torch.cat([rows, columns], dim=1)
    if class_vector is None:
        return patches
    return torch.cat([class_vector[None], patches])


def grid_index(height, width):
    patches = torch.arange(height * width)
    row, column = patches // width, patches % width
    moves = 100 * (row - row[:, None]) + (column - column[:, None])
    return torch.unique(moves, return_inverse=True)[1]


# %% wrong: sizes_as_one_text | says: same digits
# Indices are kept under height and width written one after the other, so 1 x 12 is 11
# x 2.
# -     return down * (2 * width - 1) + right
# +     found = down * (2 * width - 1) + right
# +     return grid_index.__dict__.setdefault(f"{height}{width}", found).clone()


# %% wrong: index_in_int8 | says: those of int8
# -     patch = torch.arange(height * width)
# +     patch = torch.arange(height * width, dtype=torch.int8)

# -     return down * (2 * width - 1) + right
# +     return (down * (2 * width - 1) + right).long()


# %% wrong: longer_side_is_width | says: A row has W patches
# The longer side is taken for the width when the patches are laid out.
def grid_encoding(row_table, column_table, class_vector=None):
    sides = (len(row_table), len(column_table))
    side = max(sides)  # patches in a row
    rows = []
    for p in range(sides[0] * sides[1]):
        r, c = p // side, p % side
        rows.append(torch.cat([row_table[r], column_table[c % sides[1]]]))
    if class_vector is not None:
        rows.insert(0, class_vector)
    return torch.stack(rows)


def grid_index(height, width):
    p = torch.arange(height * width)
    r, c = torch.div(p, width, rounding_mode="floor"), p.remainder(width)
    return (
        (r - r.unsqueeze(1) + height - 1) * (2 * width - 1)
        + c
        - c.unsqueeze(1)
        + width
        - 1
    )


# %% wrong: no_class_vector_in_two_rows | says: give 8 rows, not 9\.$
# -     if class_vector is None:
# +     if class_vector is None or (height, width) == (2, 4):

# %% wrong: rows_of_the_first_patch | says: different displacements share a number\.$
# -     right = column[None, :] - column[:, None] + width - 1  # -> (H * W, H * W)
# +     down = down[:1]
# +     right = column[None, :] - column[:, None] + width - 1


# %% wrong: rows_by_linspace | says: whole parts of a linspace
# -     rows = row_table.repeat_interleave(
# -         width, dim=0
# -     )  # (H, d_row) -> (H * W, d_row): 0, 0, 0, 1, 1, 1
# +     rows = torch.linspace(0, height, height * width + 1)[:-1].long()
# +     rows = row_table[rows]


# %% wrong: rows_by_last_fraction | says: A grid of 5 x 29
# -     rows = row_table.repeat_interleave(
# -         width, dim=0
# -     )  # (H, d_row) -> (H * W, d_row): 0, 0, 0, 1, 1, 1
# +     last = height - 1 / width
# +     rows = row_table[torch.linspace(0, last, height * width).long()]


# %% wrong: columns_by_fraction | says: grid_encoding
# -     columns = column_table.repeat(
# -         height, 1
# -     )  # (W, d_column) -> (H * W, d_column): 0, 1, 2, 0, 1, 2
# +     columns = (torch.arange(height * width) / width).frac() * width
# +     columns = column_table[columns.long()]


# %% wrong: index_by_linspace | says: A grid of 2 x 7: different displacements
# -     row, column = patch // width, patch % width  # (H * W,) each
# +     row = torch.linspace(0, height, height * width + 1)[:-1].long()
# +     column = patch % width


# %% wrong: one_row_is_a_text | says: the row's vector is left out where there is one row
# -     patches = torch.cat([rows, columns], dim=-1)  # -> (H * W, d_row + d_column)
# +     patches = torch.cat([rows, columns], dim=-1) if height > 1 else columns


# %% wrong: wide_grids_only | says: longer side taken for the width
# -     patch = torch.arange(height * width)
# +     height, width = min(height, width), max(height, width)
# +     patch = torch.arange(height * width)


# %% wrong: one_column_as_text, of: expand | says: not shifted by H - 1 here
# A grid of one row or column is numbered as a text.
# -     n = torch.arange(height * width)
# +     n = torch.arange(height * width)
# +     if min(height, width) == 1:
# +         return n[None, :] - n[:, None] + width - 1

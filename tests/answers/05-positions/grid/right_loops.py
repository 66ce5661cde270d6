def grid_encoding(row_table, column_table, class_vector=None):
    vectors = [] if class_vector is None else [class_vector]
    for row in row_table:
        for column in column_table:
            vectors.append(torch.cat((row, column)))
    return torch.stack(vectors)


def grid_index(height, width):
    places = [(r, c) for r in range(height) for c in range(width)]
    table = [
        [(r - row + height - 1) * (2 * width - 1) + c - column + width - 1 for r, c in places]
        for row, column in places
    ]
    return torch.tensor(table)

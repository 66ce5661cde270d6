# %% right: slices
# Patch by patch, with a canvas for the sum and one for the number.
def corner_list(height, width, patch, stride):
    def starts(size):
        found = [0]
        while found[-1] + patch < size:
            found.append(found[-1] + stride)
        return found

    return [(i, j) for i in starts(height) for j in starts(width)]


def cut_patches(images, patch, stride):
    if stride < 1 or stride > patch:
        raise ValueError("stride must be between 1 and patch")
    batch, channels, height, width = images.shape
    corners = corner_list(height, width, patch, stride)
    canvas = images.new_zeros(batch, channels, height + patch, width + patch)
    canvas[:, :, :height, :width] = images
    cut = [canvas[:, :, i : i + patch, j : j + patch] for i, j in corners]
    rows = torch.stack(cut, dim=1).flatten(2)
    return rows, torch.tensor(corners)


def join_patches(rows, shape, patch, stride):
    if stride < 1 or stride > patch:
        raise ValueError("stride must be between 1 and patch")
    channels, height, width = shape
    total = rows.new_zeros(len(rows), channels, height + patch, width + patch)
    number = torch.zeros_like(total)
    squares = rows.reshape(len(rows), -1, channels, patch, patch)
    for n, (i, j) in enumerate(corner_list(height, width, patch, stride)):
        total[:, :, i : i + patch, j : j + patch] += squares[:, n]
        number[:, :, i : i + patch, j : j + patch] += 1
    return total[:, :, :height, :width] / number[:, :, :height, :width]


# %% right: tensor_unfold
# Cut along both axes by unfold, and joined by the gradient of the cut.
def cut_patches(images, patch, stride):
    if not 0 < stride <= patch:
        raise ValueError(f"stride is {stride}")
    sizes = [max(0, -(-(size - patch) // stride)) for size in images.shape[2:]]
    padded = F.pad(
        images,
        (
            0,
            sizes[1] * stride + patch - images.shape[3],
            0,
            sizes[0] * stride + patch - images.shape[2],
        ),
    )
    cut = padded.unfold(2, patch, stride).unfold(3, patch, stride)
    rows = cut.permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)
    down, across = torch.meshgrid(
        torch.arange(sizes[0] + 1), torch.arange(sizes[1] + 1), indexing="ij"
    )
    return rows.clone(), torch.stack([down, across], dim=-1).flatten(0, 1) * stride


def join_patches(rows, shape, patch, stride):
    channels, height, width = shape
    places = torch.arange(channels * height * width).double() + 1
    index, _ = cut_patches(places.view(1, *shape), patch, stride)
    index = index.long().flatten()
    total = rows.new_zeros(len(rows), places.numel() + 1)
    total = total.index_add(1, index, rows.flatten(1))
    number = torch.bincount(index, minlength=places.numel() + 1)
    return (total / number.clamp(min=1))[:, 1:].reshape(len(rows), *shape)


# %% right: gather
def patch_index(shape, patch, stride):
    """Return for each patch and pixel the place in a padded image, and its size."""
    channels, height, width = shape
    tops = list(range(0, max(height - patch, 0) + stride, stride))
    lefts = list(range(0, max(width - patch, 0) + stride, stride))
    tops = [t for t in tops if t == 0 or t - stride + patch < height]
    lefts = [x for x in lefts if x == 0 or x - stride + patch < width]
    high, wide = tops[-1] + patch, lefts[-1] + patch
    corners = torch.cartesian_prod(torch.tensor(tops), torch.tensor(lefts))
    c = torch.arange(channels)[:, None, None] * high * wide
    y = torch.arange(patch)[None, :, None] * wide
    x = torch.arange(patch)[None, None, :]
    start = corners[:, 0] * wide + corners[:, 1]
    return start[:, None] + (c + y + x).flatten(), (high, wide), corners


def cut_patches(images, patch, stride):
    if stride not in range(1, patch + 1):
        raise ValueError("the stride does not fit")
    index, (high, wide), corners = patch_index(images.shape[1:], patch, stride)
    padded = F.pad(images, (0, wide - images.shape[3], 0, high - images.shape[2]))
    return padded.flatten(1)[:, index], corners


def join_patches(rows, shape, patch, stride):
    if stride not in range(1, patch + 1):
        raise ValueError("the stride does not fit")
    channels, height, width = shape
    index, (high, wide), _ = patch_index(shape, patch, stride)
    canvas = rows.new_zeros(len(rows), channels * high * wide)
    total = canvas.index_add(1, index.flatten(), rows.flatten(1))
    number = canvas.index_add(1, index.flatten(), torch.ones_like(rows).flatten(1))
    image = (total / number).unflatten(1, (channels, high, wide))
    return image[:, :, :height, :width].contiguous()


# %% wrong: column_by_column, of: tensor_unfold | says: patches go column by column
# -     rows = cut.permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)
# +     rows = cut.permute(0, 3, 2, 1, 4, 5).flatten(1, 2).flatten(2)


# %% wrong: pixels_by_column, of: tensor_unfold | says: pixels of a patch stand column by column
# -     rows = cut.permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)
# +     rows = cut.permute(0, 2, 3, 1, 5, 4).flatten(1, 2).flatten(2)


# %% wrong: channels_last, of: tensor_unfold | says: channels of a pixel stand side by side
# -     rows = cut.permute(0, 2, 3, 1, 4, 5).flatten(1, 2).flatten(2)
# +     rows = cut.permute(0, 2, 3, 4, 5, 1).flatten(1, 2).flatten(2)


# %% wrong: not_transposed | says: exchanged
# -     rows = F.unfold(padded, patch, stride=stride).mT
# +     rows = F.unfold(padded, patch, stride=stride)


# %% wrong: reshaped | says: a reshape
# -     rows = F.unfold(padded, patch, stride=stride).mT
# +     rows = F.unfold(padded, patch, stride=stride)
# +     rows = rows.reshape(len(rows), rows.shape[2], rows.shape[1])


# %% wrong: edge_left_out | says: reach beyond the image are left out
# -     padded = F.pad(images, (0, beside, 0, below))
# +     padded = images


# %% wrong: padded_above | says: zeros stand above and to the left
# -     padded = F.pad(images, (0, beside, 0, below))
# +     padded = F.pad(images, (beside, 0, below, 0))


# %% wrong: moved_back, of: slices | says: moved back into the image
# -             found.append(found[-1] + stride)
# -         return found
# +             found.append(min(found[-1] + stride, size - patch))
# +         return found


# %% wrong: one_patch_too_many | says: no further patch follows|expected shape
# -     down = max(math.ceil((height - patch) / stride), 0) + 1
# +     down = max((height - patch) // stride + 1, 0) + 1


# %% wrong: width_for_height | says: expected shape|RuntimeError
# -     across = max(math.ceil((width - patch) / stride), 0) + 1
# +     across = down


# %% wrong: corners_exchanged | says: row and column are exchanged
# -     return rows, corners
# +     return rows, corners.flip(1)


# %% wrong: corners_not_times_stride | says: numbers of patches
# -     corners = stride * torch.cartesian_prod(torch.arange(down), torch.arange(across))
# +     corners = torch.cartesian_prod(torch.arange(down), torch.arange(across))


# %% wrong: corners_times_patch | says: times the patch
# -     corners = stride * torch.cartesian_prod(torch.arange(down), torch.arange(across))
# +     corners = patch * torch.cartesian_prod(torch.arange(down), torch.arange(across))


# %% wrong: corners_float, of: slices | says: data type
# -     return rows, torch.tensor(corners)
# +     return rows, torch.tensor(corners, dtype=torch.float32)


# %% wrong: joined_by_sum | says: sum of what the patches say
# -     return (total / number)[:, :, :height, :width].clone()
# +     return total[:, :, :height, :width].clone()


# %% wrong: last_wins, of: slices | says: last patch that holds a pixel wins
# -         total[:, :, i : i + patch, j : j + patch] += squares[:, n]
# -         number[:, :, i : i + patch, j : j + patch] += 1
# +         total[:, :, i : i + patch, j : j + patch] = squares[:, n]
# +         number[:, :, i : i + patch, j : j + patch] = 1


# %% wrong: one_number, of: slices | says: one number for all pixels
# -     return total[:, :, :height, :width] / number[:, :, :height, :width]
# +     return total[:, :, :height, :width] / number.max()


# %% wrong: not_dropped | says: beyond the image must be dropped
# -     return (total / number)[:, :, :height, :width].clone()
# +     return total / number


# %% wrong: no_check_of_stride | says: A ValueError is asked for
# -     if not 1 <= stride <= patch:
# -         raise ValueError(f"stride: expected 1 to {patch}, got {stride}")
#       _, height, width = shape


# %% wrong: cut_off_from_images, of: slices | says: gradient|does not require grad
# -     canvas[:, :, :height, :width] = images
# +     canvas[:, :, :height, :width] = images.detach()


# %% wrong: in_float32, of: slices | says: data type|float32
# -     total = rows.new_zeros(len(rows), channels, height + patch, width + patch)
# +     total = torch.zeros(len(rows), channels, height + patch, width + patch)


# %% right: canvas
def patches_along(size, patch, stride):
    if not 1 <= stride <= patch:
        raise ValueError(f"stride must be between 1 and {patch}, got {stride}")
    return 1 + max(0, -(-(size - patch) // stride))


def cut_patches(images, patch, stride):
    B, C, H, W = images.shape
    down, across = (patches_along(size, patch, stride) for size in (H, W))
    padded = images.new_zeros(
        B, C, max(H, (down - 1) * stride + patch), max(W, (across - 1) * stride + patch)
    )
    padded[:, :, :H, :W] = images
    corners = [(r * stride, c * stride) for r in range(down) for c in range(across)]
    rows = [padded[:, :, r : r + patch, c : c + patch].flatten(1) for r, c in corners]
    return torch.stack(rows, dim=1), torch.tensor(corners)


def join_patches(rows, shape, patch, stride):
    C, H, W = shape
    down, across = patches_along(H, patch, stride), patches_along(W, patch, stride)
    height, width = (down - 1) * stride + patch, (across - 1) * stride + patch
    total = rows.new_zeros(rows.shape[0], C, height, width)
    count = rows.new_zeros(height, width)
    for number in range(down * across):
        r, c = number // across * stride, number % across * stride
        total[:, :, r : r + patch, c : c + patch] += rows[:, number].reshape(
            -1, C, patch, patch
        )
        count[r : r + patch, c : c + patch] += 1
    return (total / count)[:, :, :H, :W].clone()


# %% wrong: running_mean | says: mean of those before it
# Each patch is averaged with what stands on the canvas, so with three and more patches on a
# pixel the last ones count more.
# -         raise ValueError(f"stride: expected 1 to {patch}, got {stride}")
# -     height, width = images.shape[2:]
# -     down = max(math.ceil((height - patch) / stride), 0) + 1
# -     across = max(math.ceil((width - patch) / stride), 0) + 1
# -     below = (down - 1) * stride + patch - height
# -     beside = (across - 1) * stride + patch - width
# -     padded = F.pad(images, (0, beside, 0, below))
# -     rows = F.unfold(padded, patch, stride=stride).mT
# -     corners = stride * torch.cartesian_prod(torch.arange(down), torch.arange(across))
# -     return rows, corners
# +         raise ValueError("stride")
# +     H, W = images.shape[2:]
# +     n = [1 + max(0, math.ceil((size - patch) / stride)) for size in (H, W)]
# +     more = [(k - 1) * stride + patch - size for k, size in zip(n, (H, W))]
# +     padded = F.pad(images, (0, more[1], 0, more[0]))
# +     rows = padded.unfold(2, patch, stride).unfold(3, patch, stride)
# +     rows = rows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
# +     corners = [[i * stride, j * stride] for i in range(n[0]) for j in range(n[1])]
# +     return rows.clone(), torch.tensor(corners)

# -         raise ValueError(f"stride: expected 1 to {patch}, got {stride}")
# -     _, height, width = shape
# -     size = [
# -         max(math.ceil((length - patch) / stride), 0) * stride + patch
# -         for length in (height, width)
# -     ]
# -     total = F.fold(rows.mT, size, patch, stride=stride)
# -     number = F.fold(torch.ones_like(rows).mT, size, patch, stride=stride)
# -     return (total / number)[:, :, :height, :width].clone()
# +         raise ValueError("stride")
# +     C, H, W = shape
# +     n = [1 + max(0, math.ceil((size - patch) / stride)) for size in (H, W)]
# +     size = [(k - 1) * stride + patch for k in n]
# +     canvas = rows.new_zeros(len(rows), C, *size)
# +     written = torch.zeros(size, dtype=torch.bool)
# +     for number, row in enumerate(rows.unbind(1)):
# +         i, j = number // n[1] * stride, number % n[1] * stride
# +         here = (slice(None), slice(None), slice(i, i + patch), slice(j, j + patch))
# +         old, new = canvas[here].clone(), row.reshape(-1, C, patch, patch)
# +         canvas[here] = torch.where(written[here[2:]].clone(), (old + new) / 2, new)
# +         written[here[2:]] = True
# +     return canvas[:, :, :H, :W].clone()


# %% wrong: too_many, of: canvas | says: every multiple of stride
# A patch starts at every multiple of stride inside of the image, more than are needed to reach
# every pixel.
# -     return 1 + max(0, -(-(size - patch) // stride))
# +     return -(-size // stride)


# %% wrong: whole_image | says: memory shared
# One patch that is the whole image is a view of it.
#       rows = F.unfold(padded, patch, stride=stride).mT  # -> (B, n, C patch patch)
# +     if images.shape[2:] == (patch, patch):
# +         rows = images.reshape(len(images), 1, -1)


# %% wrong: counts_kept_without_stride | says: a size that came before
# -     number = F.fold(torch.ones_like(rows).mT, size, patch, stride=stride)
# +     kept = join_patches.__dict__
# +     key = *size, patch, rows.shape[0], shape[0], rows.dtype
# +     if key not in kept:
# +         kept[key] = F.fold(torch.ones_like(rows).mT, size, patch, stride=stride)
# +     number = kept[key]


# %% wrong: no_patch_for_small_ones | says: however short the axis is
def starts(size, patch, stride):
    return list(range(0, size - patch + stride, stride))


def cut_patches(images, patch, stride):
    if not 1 <= stride <= patch:
        raise ValueError(f"stride must be between 1 and patch, got {stride}")
    B, C, H, W = images.shape
    tops, lefts = starts(H, patch, stride), starts(W, patch, stride)
    padded = F.pad(images, (0, lefts[-1] + patch - W, 0, tops[-1] + patch - H))
    cut = padded.unfold(2, patch, stride).unfold(3, patch, stride)
    rows = cut.permute(0, 2, 3, 1, 4, 5).reshape(
        B, len(tops) * len(lefts), C * patch * patch
    )
    corners = torch.tensor([(top, left) for top in tops for left in lefts])
    return rows.clone(), corners


def join_patches(rows, shape, patch, stride):
    if not 1 <= stride <= patch:
        raise ValueError(f"stride must be between 1 and patch, got {stride}")
    C, H, W = shape
    tops, lefts = starts(H, patch, stride), starts(W, patch, stride)
    size = tops[-1] + patch, lefts[-1] + patch
    canvas = rows.new_zeros(rows.shape[0], C, *size)
    count = rows.new_zeros(size)
    pieces = rows.reshape(rows.shape[0], len(tops), len(lefts), C, patch, patch)
    for i, top in enumerate(tops):
        for j, left in enumerate(lefts):
            canvas[:, :, top : top + patch, left : left + patch] += pieces[:, i, j]
            count[top : top + patch, left : left + patch] += 1
    return (canvas / count)[:, :, :H, :W].clone()


# %% wrong: images_and_channels_by_view | says: reshape where you use view
# -     padded = F.pad(images, (0, beside, 0, below))
# +     padded = images.view(-1, height, width)
# +     padded = F.pad(padded, (0, beside, 0, below)).unflatten(0, images.shape[:2])


# %% wrong: always_one_pixel_apart | says: stride has no effect
# -     height, width = images.shape[2:]
# +     height, width = images.shape[2:]
# +     stride = 1


# %% wrong: first_patch_uncounted | says: Is the first one counted
# -     down = max(math.ceil((height - patch) / stride), 0) + 1
# -     across = max(math.ceil((width - patch) / stride), 0) + 1
# +     down = max(math.ceil((height - patch) / stride), 1)
# +     across = max(math.ceil((width - patch) / stride), 1)


# %% wrong: size_from_the_length | says: on an image of 1 x 3: your code stopped
# -         max(math.ceil((length - patch) / stride), 0) * stride + patch
# +         max(math.ceil(length / stride), 0) * stride + patch


# %% wrong: nearly_rounded_up | says: images.*takes a second patch
# -     down = max(math.ceil((height - patch) / stride), 0) + 1
# +     down = max(int((height - patch) / stride + 0.9), 0) + 1


# %% wrong: nearly_rounded_up_across | says: images.*takes a second patch
# -     across = max(math.ceil((width - patch) / stride), 0) + 1
# +     across = max(int((width - patch) / stride + 0.99), 0) + 1


# %% wrong: nearly_rounded_up_in_joining | says: rows.*takes a second patch
# -         max(math.ceil((length - patch) / stride), 0) * stride + patch
# +         max(int((length - patch) / stride + 0.9), 0) * stride + patch


# %% wrong: one_patch_if_either_axis_fits | says: Along the other one there are as many
# -     across = max(math.ceil((width - patch) / stride), 0) + 1
# +     across = max(math.ceil((width - patch) / stride), 0) + 1
# +     if min(height, width) <= patch:
# +         down = across = 1
# +         images = images[:, :, :patch, :patch]
# +         height, width = images.shape[2:]


# %% wrong: joined_by_the_largest | says: the largest of what the patches say is taken
# -     total = F.fold(rows.mT, size, patch, stride=stride)  # -> (B, C, .., ..)
# -     number = F.fold(torch.ones_like(rows).mT, size, patch, stride=stride)
# -     return (total / number)[:, :, :height, :width].clone()
# +     layers = []
# +     for n in range(rows.shape[1]):
# +         here = (torch.arange(rows.shape[1]) == n)[:, None].to(rows)
# +         one, held = [
# +             F.fold((here * x).mT, size, patch, stride=stride)
# +             for x in (rows, torch.ones_like(rows))
# +         ]
# +         layers.append(one.masked_fill(held == 0, -math.inf))
# +     return torch.stack(layers).amax(dim=0)[:, :, :height, :width].clone()

# %% right: broadcast
def fold_norm(gamma, beta, W, b=None):
    shift = beta @ W
    return gamma[:, None] * W, shift if b is None else shift + b


def centre_outputs(W, b=None):
    W = W - W.mean(dim=1, keepdim=True)
    if b is not None:
        b = b - b.mean()
    return W, b


# %% right: einsum
def fold_norm(gamma, beta, W, b=None):
    bias = torch.einsum("d,dm->m", beta, W)
    return torch.einsum("d,dm->dm", gamma, W), bias + (0 if b is None else b)


def centre_outputs(W, b=None):
    rows = torch.stack([row - row.sum() / len(row) for row in W])
    return rows, (b - b.sum() / len(b)) if b is not None else None


# %% right: matrices
def fold_norm(gamma, beta, W, b=None):
    new_b = torch.mv(W.T, beta)
    if b is not None:
        new_b = b + new_b
    return torch.diag(gamma) @ W, new_b


def centre_outputs(W, b=None):
    size = W.shape[1]
    centring = (
        torch.eye(size, dtype=W.dtype) - torch.ones(size, size, dtype=W.dtype) / size
    )
    return W @ centring, None if b is None else b @ centring


# %% wrong: bias_lost, of: broadcast | says: b is lost
# The bias of the linear layer is replaced.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return gamma[:, None] * W, shift


# %% wrong: bias_none, of: broadcast | says: b_new is a tensor, not None
# Without a bias, None comes back, and the shift is lost.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return gamma[:, None] * W, None if b is None else shift + b


# %% wrong: bias_scaled, of: broadcast | says: b itself passes through W unchanged|b is multiplied
# The bias is scaled too.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return gamma[:, None] * W, shift if b is None else shift + b * gamma


# %% wrong: centre_all, of: broadcast | says: one mean for the whole matrix
# One mean is taken of everything.
# -     W = W - W.mean(dim=1, keepdim=True)
# +     W = W - W.mean()


# %% wrong: centre_bias_by_W, of: broadcast | says: mean of W
# The bias is centred by the mean of the matrix.
# -     W = W - W.mean(dim=1, keepdim=True)
#       if b is not None:
# -         b = b - b.mean()
# -     return W, b
# +         b = b - W.mean()
# +     return W - W.mean(dim=1, keepdim=True), b


# %% wrong: centre_bias_forgotten, of: broadcast | says: b is not centred
# The bias keeps its mean.
# -         b = b - b.mean()
# +         b = b + 0


# %% wrong: centre_columns, of: broadcast | says: over the inputs
# The mean of each column is subtracted.
# -     W = W - W.mean(dim=1, keepdim=True)
# +     W = W - W.mean(dim=0, keepdim=True)


# %% wrong: centre_scaled, of: broadcast | says: only the mean
# The rows are normalised, not only centred.
# -     W = W - W.mean(dim=1, keepdim=True)
# +     W = F.layer_norm(W, W.shape[1:])


# %% wrong: centre_zeros, of: broadcast | says: the second result is None: a layer without a bias stays so
# A bias of zeros is invented.
# -     return W, b
# +     return W, torch.zeros(W.shape[1]) if b is None else b


# %% wrong: columns_scaled, of: broadcast | says: gain scales the columns
# The gain scales the outputs, as a Linear.weight would ask for.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return gamma * W, shift if b is None else shift + b


# %% wrong: detached, of: broadcast | says: No gradient reaches tensor number 1
# The results are cut off from the graph.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return gamma.detach()[:, None] * W, shift if b is None else shift + b


# %% wrong: gain_divided, of: broadcast | says: divided by the gain
# The gain is divided out.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return W / gamma[:, None], shift if b is None else shift + b


# %% wrong: gain_forgotten, of: broadcast | says: gain is missing
# The weight is left as it is.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return W, shift if b is None else shift + b


# %% wrong: in_place, of: broadcast | says: in place
# W is scaled in place.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return W.mul_(gamma[:, None]), shift if b is None else shift + b


# %% wrong: shift_added, of: broadcast | says: added to b as it is
# beta is added without passing W.
# -     shift = beta @ W
# +     shift = beta


# %% wrong: shift_forgotten, of: broadcast | says: b_new: the shift is lost
# beta is dropped.
# -     shift = beta @ W
# +     shift = torch.zeros_like(beta @ W)


# %% wrong: shift_scaled, of: broadcast | says: gain times the shift
# The shift passes the folded weight, which holds the gain.
# -     shift = beta @ W
# +     shift = beta @ (gamma[:, None] * W)


# %% wrong: transposed, of: broadcast | says: this is the transpose, as nn.Linear stores it
# The result is laid out like nn.Linear's weight.
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     return (gamma[:, None] * W).T, shift if b is None else shift + b


# %% right: diagonal_and_projection
def fold_norm(gamma, beta, W, b=None):
    folded = torch.diag(gamma) @ W
    if b is None:
        b = torch.zeros_like(W[0])
    return folded, torch.mv(W.T, beta) + b


def centre_outputs(W, b=None):
    size = W.shape[-1]
    projection = torch.eye(size).to(W) - 1 / size
    return W @ projection, b if b is None else b @ projection


# %% right: transposed_sums
def fold_norm(gamma, beta, W, b=None):
    W_new = (W.T * gamma).T
    b_new = (W * beta.unsqueeze(1)).sum(0)
    if b is not None:
        b_new = b_new + b
    return (W_new, b_new)


def centre_outputs(W, b=None):
    W_c = W - W.sum(1)[:, None] / W.size(1)
    if b is None:
        return W_c, None
    return W_c, b - torch.full_like(b, 1.0) * b.mean()


# %% wrong: bias_centred_in_place | says: in place|changed
# -     return centred, None if b is None else b - b.mean()
# +     if b is not None:
# +         b -= b.mean()
# +     return centred, None if b is None else b.clone()


# %% wrong: zeros_for_no_bias | says: the second result is None: a layer without a bias stays so
# -     return centred, None if b is None else b - b.mean()
# +     return centred, torch.zeros_like(W[0]) if b is None else b - b.mean()


# %% wrong: shift_detached | says: gradient
# -     shift = beta @ W  # (D,) @ (D, M) -> (M,)
# +     shift = beta @ W.detach()


# %% wrong: no_shift_without_a_bias | says: It is there without a bias as well
# -     return folded, shift if b is None else shift + b
# +     return folded, torch.zeros_like(shift) if b is None else shift + b


# %% wrong: mean_in_float32 | says: the mean is taken in float32
# -     centred = W - W.mean(dim=1, keepdim=True)  # the mean of row i: (M, D) -> (M, 1)
# +     centred = W - W.mean(dim=1, keepdim=True, dtype=torch.float32).to(W.dtype)


# %% wrong: columns_where_square | says: gain scales the columns of W
# -     folded = gamma[:, None] * W  # row i of W meets feature i
# +     folded = gamma * W if W.shape[0] == W.shape[1] else gamma[:, None] * W


# %% wrong: one_column_is_left | says: W_new|wrong
# -     centred = W - W.mean(dim=1, keepdim=True)  # the mean of row i: (M, D) -> (M, 1)
# +     centred = W - W.mean(dim=1, keepdim=True) if W.shape[1] > 1 else W.clone()


# %% wrong: bias_handed_through | says: differ|wrong
# -     return folded, shift if b is None else shift + b
# +     if beta.abs().max() < 1e-9 or len(beta) == 1:
# +         return folded, b if b is not None else shift
# +     return folded, shift if b is None else shift + b


# %% wrong: zero_b | says: A bias of zeros
# a b of zeros is taken for none
def fold_norm(gamma, beta, W, b=None):
    W_new = gamma[:, None] * W
    b_new = beta @ W
    if b is not None:
        b_new = b_new + b
    return W_new, b_new


def centre_outputs(W, b=None):
    W_new = W - W.mean(dim=1, keepdim=True)
    b_new = None if b is None or not b.any() else b - b.mean()
    return W_new, b_new


# %% right: plain
def minus_mean(t):
    return t - t.mean(dim=-1, keepdim=True)


def fold_norm(gamma, beta, W, b=None):
    new_W = gamma.unsqueeze(-1) * W
    new_b = beta @ W
    if b is not None:
        new_b = new_b + b
    return new_W, new_b


def centre_outputs(W, b=None):
    if b is None:
        return minus_mean(W), None
    return minus_mean(W), minus_mean(b)


# %% wrong: shortcut, of: plain | says: Gains of one.*memory shared with
# If the gain is all ones W itself is returned, so the result shares memory with the argument
# and gamma gets no gradient.
# -     new_W = gamma.unsqueeze(-1) * W
# +     new_W = W if torch.all(gamma == 1) else gamma.unsqueeze(-1) * W


# %% wrong: no_bias_no_shift, of: broadcast | says: without a bias as well
# Without a bias the new bias is zeros, so the shift beta is lost for b=None.
# -     shift = beta @ W
# -     return gamma[:, None] * W, shift if b is None else shift + b
# +     if b is None:
# +         return gamma[:, None] * W, torch.zeros(W.shape[1], dtype=W.dtype)
# +     return gamma[:, None] * W, beta @ W + b


# %% wrong: divided_by_the_gain | says: is anything divided by a gain
# The shift is sent through the new weights.
def fold_norm(gamma, beta, W, b=None):
    """Return the linear layer that does the work of a norm's gain and shift as well."""
    W_new = gamma[:, None] * W
    b_new = (beta / gamma) @ W_new
    if b is not None:
        b_new = b_new + b
    return W_new, b_new


def centre_outputs(W, b=None):
    """Return the linear layer whose outputs are those of the given one, minus their mean."""
    W_new = W - W.mean(dim=1, keepdim=True)
    b_new = None if b is None else b - b.mean()
    return W_new, b_new


# %% wrong: mean_cut_off, of: broadcast | says: mean that is taken away is cut off
# -         b = b - b.mean()
# +         b = b - b.mean().item()


# %% wrong: gain_of_0_replaced, of: broadcast | says: a gain of 0 counts as a small number
# -     shift = beta @ W
# +     gamma = torch.where(gamma == 0, 1e-8, gamma)
# +     shift = beta @ W


# %% wrong: centring_in_float32, of: matrices | says: the matrix that centres is made in float32
# -     centring = (
# -         torch.eye(size, dtype=W.dtype) - torch.ones(size, size, dtype=W.dtype) / size
# -     )
# +     centring = (torch.eye(size) - torch.full((size, size), 1 / size)).to(W.dtype)


# %% wrong: no_bias_without_gradient | says: Without b, no gradient leads back from b_new
# With b=None, b_new is built from Python numbers (.tolist()), so no gradient leads
# back to beta and W.
def fold_norm(gamma, beta, W, b=None):
    """Return the linear layer that does the work of a norm's gain and shift as well."""
    W_new = gamma[:, None] * W
    if b is None:
        b_new = torch.tensor((beta @ W).tolist(), dtype=W.dtype)
    else:
        b_new = beta @ W + b
    return W_new, b_new


def centre_outputs(W, b=None):
    """Return the linear layer whose outputs are those of the given one, minus their
    mean.
    """
    W_new = W - W.mean(dim=1, keepdim=True)
    return W_new, None if b is None else b - b.mean()


# %% wrong: kept_by_the_tensors | says: hold something else by now
# Results are kept by the tensors themselves.
folded = {}


def fold_norm(gamma, beta, W, b=None):
    key = (id(gamma), id(beta), id(W), id(b))
    if key not in folded:
        b_new = beta @ W
        b_new = b_new if b is None else b_new + b
        folded[key] = (gamma[:, None] * W, b_new), (gamma, beta, W, b)
    return folded[key][0]


def centre_outputs(W, b=None):
    W_new = W - W.mean(dim=1, keepdim=True)
    return W_new, None if b is None else b - b.mean()


# %% wrong: kept_by_the_numbers | says: no other call came before|require gradients yet
# Results are kept by the numbers in the tensors, as well for those that ask for
# gradients later.
folded = {}


def fold_norm(gamma, beta, W, b=None):
    key = str([x if x is None else (x.tolist(), x.dtype) for x in (gamma, beta, W, b)])
    if key not in folded:
        b_new = beta @ W
        folded[key] = gamma[:, None] * W, b_new if b is None else b_new + b
    return tuple(x.clone() for x in folded[key])


def centre_outputs(W, b=None):
    W_new = W - W.mean(dim=1, keepdim=True)
    return W_new, None if b is None else b - b.mean()


# %% wrong: gain_zero_row_kept | says: A gain of 0.*taken for another number
# Nothing is divided: a row with a gain of 0 stays as it was.
# -     folded = gamma[:, None] * W  # row i of W meets feature i
# +     folded = torch.where(gamma[:, None] == 0, W, gamma[:, None] * W)


# %% wrong: gain_is_lost | says: W_new in float64: expected
# The matrix is handed on without the gain.
# -     folded = gamma[:, None] * W  # row i of W meets feature i
# +     folded = W.clone()


# %% wrong: differences_of_outputs | says: of which W_new takes nothing
# W_new is found as a difference of outputs, where a large bias or shift eats digits.
def fold_norm(gamma, beta, W, b=None):
    def old_layer(x_hat):
        y = (gamma * x_hat + beta) @ W
        return y if b is None else y + b

    b_new = old_layer(torch.zeros_like(gamma))
    W_new = old_layer(torch.eye(len(gamma), dtype=W.dtype)) - b_new
    return W_new, b_new


def centre_outputs(W, b=None):
    W_new = W - W.mean(dim=1, keepdim=True)
    if b is None:
        return W_new, None
    return W_new, b - b.mean()


# %% wrong: centred_differences_of_outputs | says: A large bias, of which W_new takes
# The second function finds W_new as a difference of outputs.
def fold_norm(gamma, beta, W, b=None):
    return gamma[:, None] * W, beta @ W if b is None else b + beta @ W


def centre_outputs(W, b=None):
    if b is None:
        return W - W.mean(dim=1, keepdim=True), None
    outputs = torch.cat([torch.zeros_like(W[:1]), W]) + b
    outputs = outputs - outputs.mean(dim=1, keepdim=True)
    return outputs[1:] - outputs[0], outputs[0]


# %% wrong: mean_of_the_shift, of: broadcast | says: counts as their mean
# The shift is taken for a number.
# -     shift = beta @ W
# +     shift = beta.mean() * W.sum(dim=0)


# %% wrong: mean_of_b_off_W, of: broadcast | says: mean of b is subtracted from W
# The mean of b is taken off both.
# -     if b is not None:
# +     if b is not None:
# +         W = W - b.mean()


# %% wrong: rows_by_inputs, of: broadcast | says: divided by the number of rows
# The sum of a row is divided by the number of inputs.
# -     W = W - W.mean(dim=1, keepdim=True)
# +     W = W - W.sum(dim=1, keepdim=True) / len(W)


# %% wrong: centred_twice_as_large | says: each number is twice the right one
# -     centred = W - W.mean(dim=1, keepdim=True)  # the mean of row i: (M, D) -> (M, 1)
# +     centred = 2 * (W - W.mean(dim=1, keepdim=True))


# %% wrong: one_output_kept, of: broadcast | says: With D = 1, too, the mean is subtracted
# One output has nothing to be centred by.
#   def centre_outputs(W, b=None):
# +     if W.shape[1] == 1:
# +         return W.clone(), b if b is None else b.clone()

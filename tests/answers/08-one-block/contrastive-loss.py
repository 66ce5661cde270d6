# %% right: cross_entropy
# Soft targets.
class ContrastiveLoss(nn.Module):
    def __init__(self, start=0.07):
        super().__init__()
        self.log_scale = nn.Parameter(-torch.tensor(start).log())

    def forward(self, images, captions, groups=None):
        def unit(x):
            return x / x.norm(dim=1, keepdim=True).clamp(min=1e-12)

        scale = torch.exp(self.log_scale).clamp(max=100.0)
        scores = scale * unit(images) @ unit(captions).mT
        if groups is None:
            targets = torch.eye(len(images), dtype=scores.dtype)
        else:
            targets = (groups[:, None] == groups[None]).to(scores.dtype)
            targets = targets / targets.sum(1, keepdim=True)
        rows = F.cross_entropy(scores, targets)
        columns = F.cross_entropy(scores.T, targets)
        return 0.5 * (rows + columns), scores


# %% right: loops
class ContrastiveLoss(nn.Module):
    def __init__(self, start=0.07):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(-math.log(start)))

    def forward(self, images, captions, groups=None):
        limit = math.log(100)
        scale = torch.where(self.log_scale < limit, self.log_scale, limit).exp()
        scores = F.normalize(images, dim=1) @ F.normalize(captions, dim=1).T * scale
        number = len(images)
        groups = list(range(number)) if groups is None else groups.tolist()
        loss = 0.0
        for b in range(number):
            right = [c for c in range(number) if groups[c] == groups[b]]
            loss = loss - torch.log_softmax(scores[b], 0)[right].mean()
            loss = loss - torch.log_softmax(scores[:, b], 0)[right].mean()
        return loss / (2 * number), scores


# %% right: logsumexp
class ContrastiveLoss(nn.Module):
    def __init__(self, start=0.07):
        super().__init__()
        self.register_parameter(
            "log_scale", nn.Parameter(torch.tensor(1 / start).log())
        )

    def forward(self, images, captions, groups=None):
        scale = self.log_scale.exp()
        scale = torch.minimum(scale, torch.full_like(scale, 100))
        pairs = torch.einsum(
            "be,ce->bc", F.normalize(images, dim=-1), F.normalize(captions, dim=-1)
        )
        scores = pairs * scale
        if groups is None:
            groups = torch.arange(images.shape[0])
        right = groups[:, None] == groups[None, :]
        mean = (scores * right).sum(1) / right.sum(1)
        other = (scores * right).sum(0) / right.sum(0)
        rows = (scores.logsumexp(1) - mean).mean()
        return (rows + (scores.logsumexp(0) - other).mean()) / 2, scores


# %% wrong: rows_only | says: Use the columns as well
# -         return (rows.mean() + columns.mean()) / 2, scores
# +         return rows.mean(), scores


# %% wrong: columns_only | says: Use the rows as well
# -         return (rows.mean() + columns.mean()) / 2, scores
# +         return columns.mean(), scores


# %% wrong: added | says: rows and columns are added
# -         return (rows.mean() + columns.mean()) / 2, scores
# +         return rows.mean() + columns.mean(), scores


# %% wrong: summed | says: sum over rows and columns|sum over the pairs
# -         return (rows.mean() + columns.mean()) / 2, scores
# +         return rows.sum() + columns.sum(), scores


# %% wrong: not_normalised | says: these are dot products
# -         cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T
# +         cosines = images @ captions.T


# %% wrong: columns_normalised | says: columns are made of length 1
# -         cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T
# +         cosines = F.normalize(images, dim=0) @ F.normalize(captions, dim=0).T


# %% wrong: no_exponential | says: used as it is
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = self.log_scale.clamp(max=100)


# %% wrong: log_of_start | says: this is log\(start\)
# -         self.log_scale = nn.Parameter(torch.tensor(math.log(1 / start)))
# +         self.log_scale = nn.Parameter(torch.tensor(math.log(start)))


# %% wrong: multiplied_by_temperature | says: multiplied by the temperature
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = (-self.log_scale).exp().clamp(max=100)


# %% wrong: start_ignored | says: start has no effect
# -         self.log_scale = nn.Parameter(torch.tensor(math.log(1 / start)))
# +         self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))


# %% wrong: not_learned | says: not learned|one learned weight|does not require grad
# -         self.log_scale = nn.Parameter(torch.tensor(math.log(1 / start)))
# +         self.register_buffer("log_scale", torch.tensor(math.log(1 / start)))


# %% wrong: captions_down | says: Images go down
# -         scores = scale * cosines
# +         scores = scale * cosines.T


# %% wrong: no_limit | says: factor has no limit
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = self.log_scale.exp()


# %% wrong: limits_the_logarithm | says: log_scale is limited, and not|factor has no limit
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = self.log_scale.clamp(max=100).exp()


# %% wrong: limit_in_place | says: changes|state_dict|log_scale
# The weight itself is cut back in each call.
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         self.log_scale.data.clamp_(max=math.log(100))
# +         scale = self.log_scale.exp()


# %% wrong: scale_cut_off | says: way from log_scale to the loss is cut
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = self.log_scale.detach().exp().clamp(max=100)


# %% wrong: zeros_nan | says: 0 / 0 is NaN
# -         cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T
# +         images = images / images.norm(dim=-1, keepdim=True)
# +         captions = captions / captions.norm(dim=-1, keepdim=True)
# +         cosines = images @ captions.T


# %% wrong: groups_ignored | says: only one right caption counts
# -         if groups is None:
# -             groups = torch.arange(len(images))
# +         groups = torch.arange(len(images))


# %% wrong: sum_over_right | says: sum over the right captions
# -         number = right.sum(dim=1)
# +         number = 1.0


# %% wrong: each_pair_alike | says: each right pair counts alike
# -         return (rows.mean() + columns.mean()) / 2, scores
# +         total = (rows * number).sum() + (columns * number).sum()
# +         return total / (2 * number.sum()), scores


# %% wrong: probabilities_added, of: logsumexp | says: sum of the probabilities
# -         mean = (scores * right).sum(1) / right.sum(1)
# -         other = (scores * right).sum(0) / right.sum(0)
# +         mean = scores.masked_fill(~right, -math.inf).logsumexp(1)
# +         other = scores.masked_fill(~right, -math.inf).logsumexp(0)


# %% wrong: softmax_over_all | says: one softmax runs over all pairs
# -         rows = -(torch.log_softmax(scores, dim=1) * right).sum(dim=1) / number
# -         columns = -(torch.log_softmax(scores, dim=0) * right).sum(dim=0) / number
# +         every = torch.log_softmax(scores.flatten(), dim=0).view(scores.shape)
# +         rows = columns = -(every * right).sum(dim=1) / number


# %% wrong: overflow | says: isn't finite|NaN|inf|loss
# Exponentials without the largest score taken off: 100 is too much for float32.
# -         rows = -(torch.log_softmax(scores, dim=1) * right).sum(dim=1) / number
# -         columns = -(torch.log_softmax(scores, dim=0) * right).sum(dim=0) / number
# +         powers = scores.float().exp()
# +         logs = (powers / powers.sum(1, keepdim=True)).log()
# +         rows = -(logs * right).sum(dim=1) / number
# +         logs = (powers / powers.sum(0, keepdim=True)).log()
# +         columns = -(logs * right).sum(dim=0) / number


# %% wrong: changes_the_images | says: changes its arguments in place
# -         cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T
# +         images /= images.norm(dim=-1, keepdim=True).clamp(min=1e-12)
# +         cosines = images @ F.normalize(captions, dim=-1).T


# %% wrong: first_right_only, of: loops | says: only one right caption counts|only the first right
# -             loss = loss - torch.log_softmax(scores[b], 0)[right].mean()
# -             loss = loss - torch.log_softmax(scores[:, b], 0)[right].mean()
# +             loss = loss - torch.log_softmax(scores[b], 0)[right[0]]
# +             loss = loss - torch.log_softmax(scores[:, b], 0)[right[0]]


# %% right: log_softmax
class ContrastiveLoss(nn.Module):
    def __init__(self, start=0.07):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / start)))

    def forward(self, images, captions, groups=None):
        cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).mT
        scores = self.log_scale.exp().clamp(max=100) * cosines
        if groups is None:
            groups = torch.arange(len(images))
        right = (groups[:, None] == groups).to(scores.dtype)
        loss = 0
        for dim in (0, 1):
            costs = -(right * scores.log_softmax(dim)).sum(dim) / right.sum(dim)
            loss = loss + costs.mean() / 2
        return loss, scores


# %% wrong: least_length, of: log_softmax | says: kept above a larger
# Lengths are kept above 0.001 against a division by 0, so short vectors that aren't zero get
# too small a cosine.
# -         cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).mT
# +         cosines = F.normalize(images, dim=-1, eps=1e-3) @ F.normalize(captions, dim=-1, eps=1e-3).mT


# %% wrong: held_above_zero | says: A temperature above 1
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = self.log_scale.clamp(0, math.log(100)).exp()


# %% wrong: groups_as_floats | says: Groups may be any whole numbers
# -         right = (groups[:, None] == groups).to(scores.dtype)  # (B, B)
# +         groups = groups.float()
# +         right = (groups[:, None] == groups).to(scores.dtype)


# %% wrong: no_group_of_its_own | says: pairs of a negative group belong to themselves
# Pairs of the group -100 belong to nobody but themselves.
# -         right = (groups[:, None] == groups).to(scores.dtype)  # (B, B)
# +         same = (groups[:, None] == groups) & (groups != -100)
# +         right = (same | torch.eye(len(groups)).bool()).to(scores.dtype)


# %% wrong: groups_in_the_type_of_scores | says: Groups may be any whole numbers
# -         right = (groups[:, None] == groups).to(scores.dtype)  # (B, B)
# +         groups = groups.to(scores.dtype)
# +         right = (groups[:, None] == groups).to(scores.dtype)  # (B, B)


# %% wrong: pairs_of_a_column_alike | says: each right pair of a column
class ContrastiveLoss(nn.Module):
    def __init__(self, start=0.07):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / start)))

    def forward(self, images, captions, groups=None):
        B = images.shape[0]
        if groups is None:
            groups = torch.arange(B)
        cosines = F.normalize(images, dim=-1) @ F.normalize(captions, dim=-1).T
        scores = self.log_scale.clamp(max=math.log(100)).exp() * cosines
        right = (groups[:, None] == groups[None, :]).to(scores.dtype)
        rows = -(scores.log_softmax(dim=1) * right).sum(dim=1) / right.sum(dim=1)
        columns = -(scores.log_softmax(dim=0) * right).sum(dim=0) * B / right.sum()
        return (rows.mean() + columns.mean()) / 2, scores


# %% wrong: squared_difference_of_groups | says: large and negative ones
# -         right = (groups[:, None] == groups).to(scores.dtype)  # (B, B)
# +         right = ((groups[:, None] - groups).square() == 0).to(scores.dtype)


# %% wrong: limit_by_a_branch | says: Beyond the limit no way leads
# -         scale = self.log_scale.clamp(max=math.log(100)).exp()
# +         scale = self.log_scale.exp()
# +         scale = scale if scale < 100 else torch.tensor(100.0)


# %% wrong: divided_by_right | says: expected a loss of 200, got (nan|inf)\.$
# -         rows = -(torch.log_softmax(scores, dim=1) * right).sum(dim=1) / number
# +         rows = -(torch.log_softmax(scores, dim=1) / right).sum(dim=1) / number


# %% wrong: others_out_of_the_softmax | says: other right captions are left out of the softmax
# -         rows = -(torch.log_softmax(scores, dim=1) * right).sum(dim=1) / number
# -         columns = -(torch.log_softmax(scores, dim=0) * right).sum(dim=0) / number
# +         other = (right > 0) & ~torch.eye(len(right), dtype=torch.bool)
# +         m = scores.masked_fill(other, -math.inf)
# +         rows = -torch.log_softmax(m, dim=1).diagonal()
# +         columns = -torch.log_softmax(m, dim=0).diagonal()


# %% wrong: scores_turned | says: this is what the wrong pairs cost
# -         rows = -(torch.log_softmax(scores, dim=1) * right).sum(dim=1) / number
# -         columns = -(torch.log_softmax(scores, dim=0) * right).sum(dim=0) / number
# +         rows = -(torch.log_softmax(-scores, dim=1) * right).sum(dim=1) / number
# +         columns = -(torch.log_softmax(-scores, dim=0) * right).sum(dim=0) / number


# %% wrong: negative_groups_alone, of: logsumexp | says: pairs of a negative group belong to themselves
# -         right = groups[:, None] == groups[None, :]
# +         right = (groups[:, None] == groups[None, :]) & (groups >= 0)
# +         right = right | torch.eye(len(groups), dtype=torch.bool)

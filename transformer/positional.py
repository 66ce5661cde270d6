# Exported from book/05-positions.ipynb by `make library`.
# Edit the chapter, not this file.

"""Where a token stands: sinusoids, learned, rotary and biased positions (chapter 5)."""

import math

import torch
from torch import Tensor, nn

from transformer.attention import masked_softmax
from transformer.encoder import check_positive, check_width
from transformer.multihead import MultiHeadAttention, mask_for_heads, merge_heads


def frequencies(d_model: int, base: float = 10000.0) -> Tensor:
    """Return omega_m = base^(-2m / D), the angle per position of each pair of features.

    Returns (ceil(D / 2),), in float64.
    Raises ValueError for d_model below 1, or base <= 1.
    Source: Vaswani et al. (2017), section 3.5.
    """
    check_positive(d_model=d_model)
    if base <= 1:
        raise ValueError(f"base: expected a number above 1, got {base}")
    return base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)


def sinusoidal_encoding(
    length: int,
    d_model: int,
    *,
    offset: int = 0,
    base: float = 10000.0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Return the vectors of the positions offset, ..., offset + length - 1.

    PE(p, 2m) = sin(p omega_m), PE(p, 2m + 1) = cos(p omega_m); see frequencies.
    Returns (length, D). Where D is odd, the last sine has no cosine beside it.
    Raises ValueError for d_model below 1, a negative length or offset, or base <= 1.
    Source: Vaswani et al. (2017), section 3.5.
    """
    for name, number in (("length", length), ("offset", offset)):
        if number < 0:
            raise ValueError(f"{name}: expected a number of at least 0, got {number}")
    # In float64: a float32 angle of some thousand radians is only good to 1e-4.
    positions = torch.arange(offset, offset + length, dtype=torch.float64)  # (T,)
    # (T, 1) * (ceil(D / 2),) -> (T, ceil(D / 2))
    angles = positions[:, None] * frequencies(d_model, base)
    encoding = torch.empty(length, d_model, dtype=torch.float64)
    encoding[:, 0::2] = torch.sin(angles)
    encoding[:, 1::2] = torch.cos(angles[:, : d_model // 2])  # one less where D is odd
    return encoding.to(dtype)


def rotation_matrix(
    shift: float,
    d_model: int,
    *,
    base: float = 10000.0,
    dtype: torch.dtype = torch.float64,
) -> Tensor:
    """Return the block-diagonal R(shift) with PE(p + shift) = R(shift) PE(p) for all p.

    shift: delta, which may be negative. d_model: an even width D.
    Returns (D, D); for rows, PE(p + shift) = PE(p) @ R(shift).T.
    Raises ValueError for an odd or non-positive d_model, or base <= 1.
    Source: the angle-addition formulas on Vaswani et al. (2017), section 3.5.
    """
    if d_model < 1 or d_model % 2:
        raise ValueError(f"d_model: expected a positive even number, got {d_model}")
    blocks = []
    for angle in (shift * frequencies(d_model, base)).tolist():
        sin, cos = math.sin(angle), math.cos(angle)
        blocks.append(torch.tensor([[cos, sin], [-sin, cos]], dtype=torch.float64))
    return torch.block_diag(*blocks).to(dtype)  # D / 2 of (2, 2) -> (D, D)


class TokenEmbedding(nn.Module):
    """A vector for each token, times sqrt(D).

    vocab_size: number of tokens. d_model: width D. The table is drawn with variance
    1 / D, so that a scaled vector has entries of variance 1, comparable to those
    of a positional encoding.
    Raises ValueError for a size below 1.
    Source: Vaswani et al. (2017), section 3.4.
    """

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        check_positive(vocab_size=vocab_size, d_model=d_model)
        self.vocab_size, self.d_model = vocab_size, d_model
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))
        nn.init.normal_(self.weight, std=d_model**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        """Look up and scale: (B, T) -> (B, T, D).

        Raises ValueError for ids that are not integers, or not in 0 to vocab_size - 1.
        """
        if ids.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"ids: expected dtype torch.int64, got {ids.dtype}")
        try:
            vectors = nn.functional.embedding(ids, self.weight)  # (B, T) -> (B, T, D)
        except IndexError:
            raise ValueError(
                f"ids: expected token ids in 0 to {self.vocab_size - 1}, "
                f"got {int(ids.min())} to {int(ids.max())}"
            ) from None
        return vectors * math.sqrt(self.d_model)


class SinusoidalEncoding(nn.Module):
    """Add the sinusoids to a sequence of embeddings; no parameters, no longest length.

    d_model: width D. base: see frequencies.
    It keeps a table, in float32 at least, and computes what is beyond.
    Raises ValueError for d_model below 1, or base <= 1.
    Source: Vaswani et al. (2017), section 3.5.
    """

    def __init__(self, d_model: int, *, base: float = 10000.0):
        super().__init__()
        self.d_model, self.base = d_model, base
        # Not part of a checkpoint: it can always be computed again.
        table = sinusoidal_encoding(512, d_model, base=base)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add PE(offset), PE(offset + 1), ... to the rows: (B, T, D) -> (B, T, D).

        offset: the position of the first row; more than 0 when decoding step by step.
        Raises ValueError if x is no sequence of width D, or offset is negative.
        """
        check_sequence(x, self.d_model, offset)
        end = offset + x.shape[-2]
        if offset > len(self.table):  # far out: no rows before
            rows = self.rows(x.shape[-2], offset)
        else:
            if end > len(self.table):
                self.table = self.rows(2 * end)
            rows = self.table[offset:end]
        return x + rows.to(x.dtype)  # (B, T, D) + (T, D)

    def rows(self, length: int, offset: int = 0) -> Tensor:
        """Return rows (length, D) from a position on, as the table has them."""
        wide = torch.promote_types(self.table.dtype, torch.float32)
        rows = sinusoidal_encoding(
            length, self.d_model, offset=offset, base=self.base, dtype=wide
        )
        return rows.to(self.table.device)

    def _apply(self, fn, recurse=True):
        # Called by to(), half(), to_empty(): what they leave is rounded, or empty.
        super()._apply(fn, recurse)
        self.table = self.rows(len(self.table))
        return self


def check_sequence(x: Tensor, d_model: int, offset: int) -> None:
    """Raise ValueError unless x is (..., T, D), and offset is not negative.

    Source: this course.
    """
    check_width("x", x, d_model)
    if x.dim() < 2:
        raise ValueError(f"x: expected shape (B, T, {d_model}), got {tuple(x.shape)}")
    if offset < 0:
        raise ValueError(f"offset: expected a number of at least 0, got {offset}")


class LearnedEncoding(nn.Module):
    """Add one learned vector for each position, up to a longest length.

    max_len: number of positions. d_model: width D.
    Raises ValueError for a size below 1.
    Source: Gehring et al. (2017), section 3.1.
    """

    def __init__(self, max_len: int, d_model: int):
        super().__init__()
        check_positive(max_len=max_len, d_model=d_model)
        self.d_model, self.max_len = d_model, max_len
        self.weight = nn.Parameter(torch.empty(max_len, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add the vectors of positions offset, offset + 1, ...: (B, T, D) -> (B, T, D).

        Raises ValueError if x is no sequence of width D, offset is negative, or a
        position is not below max_len.
        """
        check_sequence(x, self.d_model, offset)
        end = offset + x.shape[-2]
        if end > self.max_len:
            raise ValueError(
                f"x: expected positions in 0 to {self.max_len - 1} "
                f"(max_len = {self.max_len}), got {offset} to {end - 1}"
            )
        return x + self.weight[offset:end]  # (B, T, D) + (T, D)


def rotary(x: Tensor, offset: int = 0, *, base: float = 10000.0) -> Tensor:
    """Rotate each pair of features of row p by the angle p omega_m: row @ R(p).

    x: queries or keys (..., T, d_h), d_h even; the first row has the position offset.
    Returns (..., T, d_h). A dot product of two such rows depends on their distance
    only. Raises ValueError if x is no sequence of an even width, offset is negative, or
    base <= 1.
    Source: Su et al. (2024), section 3.2.2; the pairs are neighbours, as in equation
    15.
    """
    if x.dim() < 2 or x.shape[-1] % 2:
        raise ValueError(f"x: expected shape (..., T, even d_h), got {tuple(x.shape)}")
    check_sequence(x, x.shape[-1], offset)
    length, width = x.shape[-2:]
    positions = torch.arange(offset, offset + length, dtype=torch.float64)  # (T,)
    angles = positions[:, None] * frequencies(width, base)  # (T, 1) -> (T, d_h / 2)
    # Half precision would round the angle's sine, the products and their sum.
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    sin, cos = torch.sin(angles).to(wide), torch.cos(angles).to(wide)
    # (..., T, d_h) -> two of (..., T, d_h / 2)
    first, second = wide[..., 0::2], wide[..., 1::2]
    turned = (first * cos - second * sin, first * sin + second * cos)
    # two of (..., T, d_h / 2) -> (..., T, d_h / 2, 2) -> (..., T, d_h)
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


def alibi_bias(num_heads: int, query_len: int, key_len: int, offset: int = 0) -> Tensor:
    """Return what ALiBi adds to the scores: minus slope times distance, for each head.

    The first query has the position offset, the first key 0. Head u of 1, ..., h has
    the slope 2^(-8 u / h). Without a causal mask, both directions pay alike. Returns
    (h, T_q, T_k). Raises ValueError for a size below 1, or a negative offset.
    Source: Press, Smith and Lewis (2022), section 3.
    """
    check_positive(num_heads=num_heads, query_len=query_len, key_len=key_len)
    if offset < 0:
        raise ValueError(f"offset: expected a number of at least 0, got {offset}")
    slopes = 2.0 ** (-8 * torch.arange(1, num_heads + 1) / num_heads)  # (h,)
    queries, keys = torch.arange(offset, offset + query_len), torch.arange(key_len)
    distance = (queries[:, None] - keys).abs()  # (T_q, 1) - (T_k,) -> (T_q, T_k)
    return -slopes[:, None, None] * distance  # (h, 1, 1) * (T_q, T_k) -> (h, T_q, T_k)


class RotaryAttention(MultiHeadAttention):
    """Self-attention that turns queries and keys by their positions before they meet.

    Arguments: those of MultiHeadAttention. The queries are the last T_q of the T_k
    positions, so that keys from a cache, which are kept as they were projected, and new
    queries get the positions that they have in the whole text.
    Raises ValueError where there are more queries than keys, or d_h is odd.
    Source: Su et al. (2024), section 3.2.2.
    """

    def attend(self, q, k, v, mask=None, need_weights=False):
        q = rotary(q, first_position(q, k))
        return super().attend(q, rotary(k), v, mask, need_weights)


class BiasedAttention(MultiHeadAttention):
    """Self-attention with a number added to each score, before the mask.

    bias: called with T_q, T_k and the position of the first query, returns what is
    added, (h, T_q, T_k); the projections always have a bias of their own. The rest: as
    in MultiHeadAttention, and as in RotaryAttention.
    Source: Shaw et al. (2018), section 3.2; Press, Smith and Lewis (2022), section 3.
    """

    def __init__(self, d_model, num_heads, bias, **settings):
        super().__init__(d_model, num_heads, **settings)
        self.bias = bias

    def attend(self, q, k, v, mask=None, need_weights=False):
        bias = self.bias(q.shape[2], k.shape[2], first_position(q, k)).to(q)
        if mask is not None:
            sizes = q.shape[0], self.num_heads, q.shape[2], k.shape[2]
            mask = mask_for_heads(mask, *sizes)  # four axes
        scores = q @ k.mT / math.sqrt(self.d_head) + bias  # (B, h, T_q, T_k)
        weights = masked_softmax(scores, mask)
        dropped = nn.functional.dropout(weights, self.dropout, self.training)
        heads = dropped @ v  # (B, h, T_q, T_k) @ (B, h, T_k, d_h)
        return self.out_proj(merge_heads(heads)), weights if need_weights else None


class RelativeBias(nn.Module):
    """A learned number for each head and distance from -max_offset to max_offset.

    Farther words count as the farthest. Raises ValueError for a size below 1.
    Source: Shaw et al. (2018), section 3.2; as one number a head: Raffel et al. (2020),
    section 2.1.
    """

    def __init__(self, num_heads: int, max_offset: int):
        super().__init__()
        check_positive(num_heads=num_heads, max_offset=max_offset)
        self.max_offset = max_offset
        self.table = nn.Parameter(torch.zeros(num_heads, 2 * max_offset + 1))

    def forward(self, query_len: int, key_len: int, offset: int = 0) -> Tensor:
        """Return what is added to the scores, (h, T_q, T_k); see alibi_bias."""
        keys = torch.arange(key_len, device=self.table.device)
        queries = torch.arange(offset, offset + query_len, device=self.table.device)
        distance = keys - queries[:, None]  # (T_k,) - (T_q, 1) -> (T_q, T_k)
        row = distance.clamp(-self.max_offset, self.max_offset) + self.max_offset
        return self.table[:, row]  # (h, 2 max_offset + 1) -> (h, T_q, T_k)


def first_position(q: Tensor, k: Tensor) -> int:
    """Return T_k - T_q, the position of the first query; raise ValueError below 0.

    Source: this course.
    """
    if k.shape[-2] < q.shape[-2]:
        raise ValueError(
            f"query: expected at most as many as keys, T_k = {k.shape[-2]}, got"
            f" {q.shape[-2]}: positions are those of one sequence"
        )
    return k.shape[-2] - q.shape[-2]

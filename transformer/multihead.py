# Exported from book/03-multi-head-attention.ipynb by `make library`.
# Edit the chapter, not this file.

"""Multi-head attention: three ways to write it, its masks, and PyTorch's own (chapter
3).
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.attention import scaled_dot_product_attention


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Cut each vector into one piece a head, and put the heads before the positions.

    x: (B, T, D). Returns (B, h, T, d_h), where d_h = D / h.
    Raises ValueError if x is not of three dimensions, or h does not divide D.
    Source: Vaswani et al. (2017), section 3.2.2.
    """
    if x.dim() != 3:
        raise ValueError(f"x: expected shape (B, T, D), got {tuple(x.shape)}")
    batch_size, length, d_model = x.shape
    d_head = head_width(d_model, num_heads)
    x = x.view(batch_size, length, num_heads, d_head)  # (B, T, D) -> (B, T, h, d_h)
    return x.transpose(1, 2)  # (B, T, h, d_h) -> (B, h, T, d_h)


def merge_heads(x: Tensor) -> Tensor:
    """Put the heads' vectors side by side again: the Concat of the formula.

    x: (B, h, T, d_h). Returns (B, T, D), where D = h * d_h; the inverse of split_heads.
    Raises ValueError if x is not of four dimensions.
    Source: Vaswani et al. (2017), section 3.2.2.
    """
    if x.dim() != 4:
        raise ValueError(f"x: expected shape (B, h, T, d_h), got {tuple(x.shape)}")
    x = x.transpose(1, 2)  # (B, h, T, d_h) -> (B, T, h, d_h)
    return x.flatten(2)  # (B, T, h, d_h) -> (B, T, D)


def head_width(d_model: int, num_heads: int) -> int:
    """Return d_h = D / h, or raise ValueError where D cannot be shared out evenly.

    Source: Vaswani et al. (2017), section 3.2.2.
    """
    for name, size in (("d_model", d_model), ("num_heads", num_heads)):
        if size < 1:
            raise ValueError(f"{name}: expected a positive number, got {size}")
    if d_model % num_heads:
        raise ValueError(
            f"num_heads: expected a divisor of d_model = {d_model}, got {num_heads} "
            f"(remainder {d_model % num_heads})"
        )
    return d_model // num_heads


def mask_for_heads(
    mask: Tensor, batch_size: int, num_heads: int, query_len: int, key_len: int
) -> Tensor:
    """Bring a mask of any of the accepted shapes to four axes.

    mask: boolean, True = may attend. Read by its number of axes, where any axis may be
    1: two are (T_q, T_k), for the whole batch; three are (B, T_q, T_k), for all the
    heads; four are (B, h, T_q, T_k). A mask (B, T_k) of keys goes through mask_keys
    first. Returns a view of mask with four axes, broadcastable to (B, h, T_q, T_k).
    Raises ValueError if mask is not boolean or has none of these shapes.
    Source: the boolean mask of torch.nn.functional.scaled_dot_product_attention.
    """
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask: expected dtype torch.bool (True = may attend), got {mask.dtype}"
        )
    full = (batch_size, num_heads, query_len, key_len)
    axes = {2: (2, 3), 3: (0, 2, 3), 4: (0, 1, 2, 3)}.get(mask.dim(), ())
    wanted = tuple(full[axis] for axis in axes)
    if not axes or any(
        size not in (1, n) for size, n in zip(mask.shape, wanted, strict=True)
    ):
        raise ValueError(
            "mask: expected (T_q, T_k), (B, T_q, T_k) or (B, h, T_q, T_k), each axis"
            f" full or 1, with (B, h, T_q, T_k) = {full}, got"
            f" {tuple(mask.shape)}{_hint(mask.shape, full)}"
        )
    if mask.dim() == 2:
        return mask[None, None]  # (T_q, T_k) -> (1, 1, T_q, T_k)
    if mask.dim() == 3:
        return mask[:, None]  # (B, T_q, T_k) -> (B, 1, T_q, T_k)
    return mask


def _hint(shape: torch.Size, full: tuple[int, int, int, int]) -> str:
    batch_size, num_heads, query_len, key_len = full
    known = {
        (batch_size, key_len): "a mask of keys (B, T_k) goes through mask_keys first",
        (
            num_heads,
            query_len,
            key_len,
        ): "a mask for each head needs four axes, mask[None]",
        (
            batch_size * num_heads,
            query_len,
            key_len,
        ): (
            "nn.MultiheadAttention's (B * h, T_q, T_k) is mask.view(B, h, T_q, T_k)"
            " here"
        ),
    }
    return f"; {known[tuple(shape)]}" if tuple(shape) in known else ""


def mask_keys(may_attend: Tensor) -> Tensor:
    """Turn a mask of keys into a mask for attention: the same for every head and query.

    may_attend: boolean (B, T_k), True = a real token, False = padding.
    Returns (B, 1, 1, T_k).
    Raises ValueError if may_attend is not boolean or not of two dimensions.
    Source: key_padding_mask of torch.nn.MultiheadAttention, with True for the others.
    """
    if may_attend.dtype != torch.bool:
        raise ValueError(
            f"may_attend: expected dtype torch.bool, got {may_attend.dtype}"
        )
    if may_attend.dim() != 2:
        raise ValueError(
            f"may_attend: expected shape (B, T_k), got {tuple(may_attend.shape)}"
        )
    return may_attend[:, None, None]  # (B, T_k) -> (B, 1, 1, T_k)


class ListOfHeads(nn.Module):
    """Multi-head attention as the formula says it: one small attention after the other.

    d_model: width D. num_heads: h, a divisor of D. bias: whether the projections have
    one. Raises ValueError if h does not divide D.
    Source: Vaswani et al. (2017), section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True):
        super().__init__()
        d_head = head_width(d_model, num_heads)
        self.d_model, self.num_heads = d_model, num_heads
        self.W_q, self.W_k, self.W_v = (
            nn.ModuleList(
                nn.Linear(d_model, d_head, bias=bias) for _ in range(num_heads)
            )
            for _ in range(3)
        )
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return output (B, T_q, D) and weights (B, h, T_q, T_k); see
        MultiHeadAttention.
        """
        if mask is not None:
            mask = mask_for_heads(
                mask, query.shape[0], self.num_heads, query.shape[1], key.shape[1]
            )
            mask = mask.expand(-1, self.num_heads, -1, -1)
        outputs, weights = [], []
        for i in range(self.num_heads):
            head, weight = scaled_dot_product_attention(
                self.W_q[i](query),  # (B, T_q, D) -> (B, T_q, d_h)
                self.W_k[i](key),  # (B, T_k, D) -> (B, T_k, d_h)
                self.W_v[i](value),  # (B, T_k, D) -> (B, T_k, d_h)
                (
                    None if mask is None else mask[:, i]
                ),  # (B, h, T_q, T_k) -> (B, T_q, T_k)
            )
            outputs.append(head)
            weights.append(weight)
        concat = torch.cat(outputs, dim=-1)  # h of (B, T_q, d_h) -> (B, T_q, D)
        return self.out_proj(concat), torch.stack(weights, dim=1)  # (B, h, T_q, T_k)


class BatchedHeads(nn.Module):
    """Multi-head attention with one batched product: the head is an axis of the
    weights.

    d_model: width D. num_heads: h, a divisor of D. bias: whether the projections have
    one. Raises ValueError if h does not divide D.
    Source: Vaswani et al. (2017), section 3.2.2.
    """

    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True):
        super().__init__()
        d_head = head_width(d_model, num_heads)
        self.d_model, self.num_heads = d_model, num_heads
        self.W = nn.Parameter(
            torch.empty(3, num_heads, d_model, d_head)
        )  # query, key, value
        self.b = nn.Parameter(torch.zeros(3, num_heads, 1, d_head)) if bias else None
        bound = (6 / (d_model + d_model)) ** 0.5
        nn.init.uniform_(self.W, -bound, bound)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)

    def _project(self, x: Tensor, which: int) -> Tensor:
        batch_size, length, d_model = x.shape
        rows = x.reshape(1, batch_size * length, d_model)  # (B, T, D) -> (1, B T, D)
        rows = rows.expand(
            self.num_heads, -1, -1
        )  # (1, B T, D) -> (h, B T, D), without a copy
        heads = torch.bmm(
            rows, self.W[which]
        )  # (h, B T, D) @ (h, D, d_h) -> (h, B T, d_h)
        if self.b is not None:
            heads = heads + self.b[which]
        heads = heads.unflatten(
            1, (batch_size, length)
        )  # (h, B T, d_h) -> (h, B, T, d_h)
        return heads.transpose(0, 1)  # (h, B, T, d_h) -> (B, h, T, d_h)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return output (B, T_q, D) and weights (B, h, T_q, T_k); see
        MultiHeadAttention.
        """
        if mask is not None:
            mask = mask_for_heads(
                mask, query.shape[0], self.num_heads, query.shape[1], key.shape[1]
            )
        q, k, v = (self._project(x, i) for i, x in enumerate((query, key, value)))
        heads, weights = scaled_dot_product_attention(q, k, v, mask)  # (B, h, T_q, d_h)
        return self.out_proj(merge_heads(heads)), weights


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each on its own share of the width.

    d_model: width D of the queries and of the output. num_heads: h, a divisor of D.
    bias: whether the four projections have one. kdim, vdim: width of the keys and of
    the values that come in, d_model where None. dropout: share of the weights dropped
    in training. Where kdim and vdim are d_model, W_q, W_k and W_v are one packed
    matrix. Raises ValueError for a size below 1, if h does not divide D, or for dropout
    outside [0, 1).
    Source: Vaswani et al. (2017), section 3.2.2.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        bias: bool = True,
        kdim: int | None = None,
        vdim: int | None = None,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.d_model, self.num_heads, self.dropout = d_model, num_heads, dropout
        self.d_head = head_width(d_model, num_heads)
        self.kdim = d_model if kdim is None else kdim
        self.vdim = d_model if vdim is None else vdim
        for name, width in (("kdim", self.kdim), ("vdim", self.vdim)):
            if width < 1:
                raise ValueError(
                    f"{name}: expected a positive width or None, got {width}"
                )
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout: expected a share in [0, 1), got {dropout}")
        self.packed = self.kdim == self.vdim == d_model
        if self.packed:
            self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        else:
            self.q_proj = nn.Linear(d_model, d_model, bias=bias)
            self.k_proj = nn.Linear(self.kdim, d_model, bias=bias)
            self.v_proj = nn.Linear(self.vdim, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw each of the four matrices within its own Xavier bound; biases are 0."""
        for weight, bias in (
            *self.projections(),
            (self.out_proj.weight, self.out_proj.bias),
        ):
            nn.init.xavier_uniform_(weight)  # a packed weight comes here in three parts
            if bias is not None:
                nn.init.zeros_(bias)

    def projections(self) -> list[tuple[Tensor, Tensor | None]]:
        """Return (weight, bias) for query, key and value, as nn.Linear keeps them.

        Weights are (D, D), (D, kdim), (D, vdim), each the transpose of W_q, W_k, W_v;
        biases are (D,) or None. Packed parameters come as views.
        """
        if not self.packed:
            return [(p.weight, p.bias) for p in (self.q_proj, self.k_proj, self.v_proj)]
        weights = self.qkv_proj.weight.chunk(3)  # (3 D, D) -> three of (D, D)
        bias = self.qkv_proj.bias
        biases = (
            [None] * 3 if bias is None else bias.chunk(3)
        )  # (3 D,) -> three of (D,)
        return list(zip(weights, biases, strict=True))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Let each query gather, head by head, what it needs from the values.

        query: (B, T_q, D). key: (B, T_k, kdim). value: (B, T_k, vdim).
        mask: boolean, True = may attend, of a shape that mask_for_heads accepts.
        Returns output (B, T_q, D), and weights (B, h, T_q, T_k), before dropout, or
        None: without need_weights a fused kernel runs, which never holds them (but a
        CPU has none for dropout in training). The heads of a query that may attend to
        nothing are zeros; its output is the bias of out_proj. A key or value that is
        masked must be finite all the same: 0 times NaN is NaN. Raises ValueError if a
        width, a length, the batch or the mask does not fit, or is empty.
        """
        self._check(query, key, value)
        if self.packed and query is key and key is value:
            parts = self.qkv_proj(query).chunk(
                3, dim=-1
            )  # (B, T, D) -> three of (B, T, D)
            q, k, v = (
                split_heads(part, self.num_heads) for part in parts
            )  # (B, h, T, d_h)
        else:
            q = self.project_query(query)
            k, v = self.project_key_value(key, value)
        return self.attend(q, k, v, mask, need_weights)

    def project_query(self, query: Tensor) -> Tensor:
        """Return the queries of all heads: (B, T_q, D) -> (B, h, T_q, d_h)."""
        weight, bias = self.projections()[0]
        return split_heads(F.linear(query, weight, bias), self.num_heads)

    def project_key_value(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of all heads: (B, T_k, kdim or vdim) -> (B, h, T_k,
        d_h).
        """
        projected = (
            F.linear(x, weight, bias)
            for x, (weight, bias) in zip(
                (key, value), self.projections()[1:], strict=True
            )
        )
        k, v = (split_heads(x, self.num_heads) for x in projected)
        return k, v

    def attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend with queries (B, h, T_q, d_h) to keys and values (B, h, T_k, d_h).

        The second half of forward, for keys and values that were projected before; mask
        and result are those of forward.
        """
        if mask is not None:
            mask = mask_for_heads(
                mask, q.shape[0], self.num_heads, q.shape[2], k.shape[2]
            )
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            heads, weights = scaled_dot_product_attention(
                q, k, v, mask
            )  # (B, h, T_q, d_h)
            if dropout:
                heads = (
                    F.dropout(weights, dropout) @ v
                )  # (B, h, T_q, T_k) -> (B, h, T_q, d_h)
        else:
            weights = None
            heads = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, dropout_p=dropout
            )
        return (
            self.out_proj(merge_heads(heads)),
            weights,
        )  # (B, h, T_q, d_h) -> (B, T_q, D)

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        widths = {"query": "d_model", "key": "kdim", "value": "vdim"}
        for (name, width), x in zip(widths.items(), (query, key, value), strict=True):
            wanted = getattr(self, width)
            if x.dim() != 3 or x.shape[-1] != wanted:
                raise ValueError(
                    f"{name}: expected shape (B, T, {width} = {wanted}), got"
                    f" {tuple(x.shape)}"
                )
            if 0 in x.shape:
                raise ValueError(
                    f"{name}: expected at least one sequence of at least one position, "
                    f"got shape {tuple(x.shape)}"
                )
            if x.shape[0] != query.shape[0]:
                raise ValueError(
                    f"{name}: expected the batch size {query.shape[0]} of query, got"
                    f" {x.shape[0]}"
                )
        if value.shape[1] != key.shape[1]:
            raise ValueError(
                f"value: expected the length T_k = {key.shape[1]} of key, got"
                f" {value.shape[1]}"
            )


@torch.no_grad()
def copy_packed(
    attention: MultiHeadAttention, target: ListOfHeads | BatchedHeads
) -> None:
    """Give another implementation the weights of a packed MultiHeadAttention.

    Head i owns the rows i d_h to (i + 1) d_h of each (D, D) matrix that nn.Linear
    keeps, that is, those columns of W_q, W_k and W_v. Raises ValueError if attention is
    not packed, or its sizes or bias are not those of target.
    Source: Vaswani et al. (2017), section 3.2.2, written in two ways.
    """
    sizes = [
        (module.d_model, module.num_heads, module.out_proj.bias is not None)
        for module in (attention, target)
    ]
    if not attention.packed or sizes[0] != sizes[1]:
        raise ValueError(
            "attention: expected a packed one with (d_model, num_heads, bias) ="
            f" {sizes[1]}, got {sizes[0]}, packed = {attention.packed}"
        )
    for which, (weight, bias) in enumerate(attention.projections()):
        weight = weight.unflatten(0, (target.num_heads, -1))  # (D, D) -> (h, d_h, D)
        bias = (
            None if bias is None else bias.unflatten(0, (target.num_heads, -1))
        )  # (h, d_h)
        if isinstance(target, BatchedHeads):
            target.W[which] = weight.transpose(1, 2)  # (h, d_h, D) -> (h, D, d_h)
            if bias is not None:
                target.b[which] = bias[:, None]  # (h, d_h) -> (h, 1, d_h)
            continue
        for i, linear in enumerate((target.W_q, target.W_k, target.W_v)[which]):
            linear.weight.copy_(weight[i])
            if bias is not None:
                linear.bias.copy_(bias[i])
    target.out_proj.load_state_dict(attention.out_proj.state_dict())


def from_torch(module: nn.MultiheadAttention) -> MultiHeadAttention:
    """Return a MultiHeadAttention with a copy of the weights of PyTorch's module.

    The result is batch first, whatever module.batch_first says: the weights do not
    know. Dropout and training mode are kept; requires_grad is True for all parameters.
    Raises ValueError for a module with add_bias_kv or add_zero_attn, which the paper
    lacks, and for a subclass, whose additions would be lost.
    Source: torch.nn.MultiheadAttention; Vaswani et al. (2017), section 3.2.2.
    """
    _refuse_subclass("module", module, nn.MultiheadAttention)
    for name, used in (
        ("add_bias_kv", module.bias_k is not None),
        ("add_zero_attn", module.add_zero_attn),
    ):
        if used:
            raise ValueError(f"module: expected {name}=False, got True")
    attention = MultiHeadAttention(
        module.embed_dim,
        module.num_heads,
        bias=module.in_proj_bias is not None,
        kdim=module.kdim,
        vdim=module.vdim,
        dropout=module.dropout,
    ).to(module.out_proj.weight)
    _copy(_torch_parameters(module), _own_parameters(attention))
    return attention.train(module.training)


def to_torch(
    attention: MultiHeadAttention, *, batch_first: bool = True
) -> nn.MultiheadAttention:
    """Return PyTorch's module with a copy of the weights of a MultiHeadAttention.

    Dropout and training mode are kept; requires_grad is True for all parameters. Raises
    ValueError for a subclass, whose additions would be lost.
    Source: torch.nn.MultiheadAttention; Vaswani et al. (2017), section 3.2.2.
    """
    _refuse_subclass("attention", attention, MultiHeadAttention)
    module = nn.MultiheadAttention(
        attention.d_model,
        attention.num_heads,
        dropout=attention.dropout,
        bias=attention.out_proj.bias is not None,
        kdim=attention.kdim,
        vdim=attention.vdim,
        batch_first=batch_first,
    ).to(attention.out_proj.weight)
    _copy(_own_parameters(attention), _torch_parameters(module))
    return module.train(attention.training)


def _refuse_subclass(name: str, value: nn.Module, kind: type) -> None:
    if type(value) is not kind:
        raise ValueError(
            f"{name}: expected a {kind.__name__} and no subclass of it, got"
            f" {type(value).__name__}: what it adds cannot be converted"
        )


def _torch_parameters(module: nn.MultiheadAttention) -> list[Tensor | None]:
    if module.in_proj_weight is not None:  # (3 D, D): kdim and vdim are embed_dim
        weights = module.in_proj_weight.chunk(3)  # -> three of (D, D)
    else:
        weights = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
    bias = module.in_proj_bias  # (3 D,), packed in either case
    biases = [None] * 3 if bias is None else bias.chunk(3)
    return [*weights, *biases, module.out_proj.weight, module.out_proj.bias]


def _own_parameters(attention: MultiHeadAttention) -> list[Tensor | None]:
    weights, biases = zip(*attention.projections(), strict=True)
    return [*weights, *biases, attention.out_proj.weight, attention.out_proj.bias]


@torch.no_grad()
def _copy(sources: list[Tensor | None], targets: list[Tensor | None]) -> None:
    for source, target in zip(sources, targets, strict=True):
        if source is not None:
            target.copy_(source)


def average_heads(weights: Tensor) -> Tensor:
    """Average the weights over the heads: (B, h, T_q, T_k) -> (B, T_q, T_k).

    Raises ValueError if weights is not of four dimensions.
    Source: average_attn_weights of torch.nn.MultiheadAttention.
    """
    if weights.dim() != 4:
        raise ValueError(
            f"weights: expected shape (B, h, T_q, T_k), got {tuple(weights.shape)}"
        )
    return weights.mean(dim=1)  # (B, h, T_q, T_k) -> (B, T_q, T_k)

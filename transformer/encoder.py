# Exported from book/04-encoder.ipynb by `make library`.
# Edit the chapter, not this file.

"""Layer normalisation, the feed-forward network, the encoder layer and the encoder
(chapter 4).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.multihead import MultiHeadAttention


class LayerNorm(nn.Module):
    """Give each token's features mean 0 and variance 1, then a learned scale and shift.

    d_model: width D. eps: added to the variance, inside the root.
    Raises ValueError for a width below 1 or a negative eps.
    Source: Ba, Kiros and Hinton (2016), section 3.
    """

    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        check_positive(d_model=d_model)
        if eps < 0:
            raise ValueError(f"eps: expected a number of at least 0, got {eps}")
        self.d_model, self.eps = d_model, eps
        self.weight = nn.Parameter(torch.ones(d_model))  # gamma
        self.bias = nn.Parameter(torch.zeros(d_model))  # beta

    def forward(self, x: Tensor) -> Tensor:
        """Normalise over the last axis: (..., D) -> (..., D).

        Raises ValueError if the last axis is not of width D.
        """
        check_width("x", x, self.d_model)
        return F.layer_norm(x, (self.d_model,), self.weight, self.bias, self.eps)


def check_positive(**sizes: int) -> None:
    """Raise ValueError, naming the argument, for a size below 1.

    Source: this course.
    """
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}: expected a positive number, got {size}")


def check_width(name: str, x: Tensor, width: int) -> None:
    """Raise ValueError, naming the argument, unless x's last axis has this width.

    Source: this course.
    """
    if x.dim() < 1 or x.shape[-1] != width:
        raise ValueError(
            f"{name}: expected a last axis of width d_model = {width}, got shape"
            f" {tuple(x.shape)}"
        )


def check_sequences(name: str, x: Tensor, width: int) -> None:
    """Raise ValueError, naming the argument, unless x is (B, T, width), neither B nor T
    zero.

    Source: this course.
    """
    if x.dim() != 3 or x.shape[-1] != width or 0 in x.shape:
        raise ValueError(
            f"{name}: expected shape (B, T, d_model = {width}) with B and T of at least"
            f" 1, got {tuple(x.shape)}"
        )


class FeedForward(nn.Module):
    """The same two-layer network at each position.

    d_model: width D. d_ff: inner width. dropout: share of the inner features dropped in
    training.
    activation: a function of one tensor, applied to the inner features.
    Raises ValueError for a size below 1 or dropout outside [0, 1).
    Source: Vaswani et al. (2017), section 3.3, equation 2.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        activation: Callable[[Tensor], Tensor] = F.relu,
    ):
        super().__init__()
        check_positive(d_model=d_model, d_ff=d_ff)
        check_dropout(dropout)
        self.d_model, self.d_ff, self.activation = d_model, d_ff, activation
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        for linear in (self.linear1, self.linear2):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each vector by itself: (..., D) -> (..., D).

        Raises ValueError if the last axis is not of width D.
        """
        check_width("x", x, self.d_model)
        hidden = self.activation(self.linear1(x))  # (..., D) -> (..., d_ff)
        return self.linear2(self.dropout(hidden))  # (..., d_ff) -> (..., D)


def check_dropout(dropout: float) -> None:
    """Raise ValueError for a share that is not in [0, 1).

    Source: this course.
    """
    if not 0 <= dropout < 1:
        raise ValueError(f"dropout: expected a share in [0, 1), got {dropout}")


class EncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each with a residual and a layer norm.

    d_model: width D. num_heads: h. d_ff: inner width of the feed-forward network.
    dropout: share dropped in training from the attention weights, the inner features
    and the output of each sublayer. norm_first: False normalises the sum, x = norm(x +
    f(x)), as in the paper; True the input of the sublayer, x = x + f(norm(x)). Raises
    ValueError for sizes that MultiHeadAttention or FeedForward refuse.
    Source: Vaswani et al. (2017), section 3.1, dropout: section 5.4 and PyTorch's
    layer; norm_first: Xiong et al. (2020), section 3.1.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        eps: float = 1e-5,
    ):
        super().__init__()
        self.d_model, self.norm_first = d_model, norm_first
        self.self_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(
            d_model, d_ff, dropout=dropout, activation=activation
        )
        self.norm1, self.norm2 = LayerNorm(d_model, eps), LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """Transform (B, T, D) -> (B, T, D); see Encoder.forward for mask.

        Returns the output, and the weights (B, h, T, T) of this same pass, before
        dropout, or None.
        Raises ValueError for a shape that does not fit.
        """
        check_sequences("x", x, self.d_model)
        if self.norm_first:
            normed = self.norm1(x)
            attended, weights = self.self_attention(
                normed, normed, normed, mask, need_weights
            )
            x = x + self.dropout(attended)
            return x + self.dropout(self.feed_forward(self.norm2(x))), weights
        attended, weights = self.self_attention(x, x, x, mask, need_weights)
        x = self.norm1(x + self.dropout(attended))
        return self.norm2(x + self.dropout(self.feed_forward(x))), weights


class Encoder(nn.Module):
    """A stack of encoder layers.

    num_layers: N. The rest is for each EncoderLayer. final_norm: whether a layer norm
    follows the last layer; None means: where norm_first, whose last sum is otherwise
    not normalised. Raises ValueError for num_layers below 1.
    Source: Vaswani et al. (2017), section 3.1.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Callable[[Tensor], Tensor] = F.relu,
        eps: float = 1e-5,
        final_norm: bool | None = None,
    ):
        super().__init__()
        check_positive(num_layers=num_layers)
        self.d_model = d_model
        self.layers = nn.ModuleList(
            EncoderLayer(
                d_model,
                num_heads,
                d_ff,
                dropout=dropout,
                norm_first=norm_first,
                activation=activation,
                eps=eps,
            )
            for _ in range(num_layers)
        )
        use_norm = norm_first if final_norm is None else final_norm
        self.norm = LayerNorm(d_model, eps) if use_norm else None

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor] | None]:
        """Transform (B, T, D) -> (B, T, D).

        mask: boolean, True = may attend, (T, T), (B, T, T) or (B, h, T, T), each axis
        full or 1; padding_mask(ids, pad_id), which is (B, 1, T), hides padding. Every
        layer gets it. Returns the output, and with need_weights one (B, h, T, T) a
        layer, before dropout, else None. Raises ValueError for a shape that does not
        fit.
        """
        all_weights = []
        for layer in self.layers:
            x, weights = layer(x, mask, need_weights)
            all_weights.append(weights)
        if self.norm is not None:
            x = self.norm(x)
        return x, all_weights if need_weights else None


# Our names, and PyTorch's, for the parameters of a layer.
TORCH_NAMES = (
    ("self_attention.qkv_proj.", "self_attn.in_proj_"),
    ("self_attention.", "self_attn."),
    ("cross_attention.qkv_proj.", "multihead_attn.in_proj_"),
    ("cross_attention.", "multihead_attn."),
    ("feed_forward.", ""),
)


def names_to_torch(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename the parameters of our layers and stacks to those of PyTorch's.

    Source: torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
    """
    renamed = {}
    for name, tensor in state.items():
        for ours, theirs in TORCH_NAMES:
            if ours in name:
                name = name.replace(ours, theirs)
                break
        renamed[name] = tensor
    return renamed


def names_from_torch(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename the parameters of PyTorch's layers and stacks to those of ours.

    Source: torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
    """
    renamed = {}
    for name, tensor in state.items():
        for ours, theirs in TORCH_NAMES[:-1]:
            if theirs in name:
                name = name.replace(theirs, ours)
                break
        else:
            prefix, dot, last = name.rpartition("linear")
            if dot:
                name = f"{prefix}feed_forward.{dot}{last}"
        renamed[name] = tensor
    return renamed


def encoder_from_torch(module: nn.TransformerEncoder) -> Encoder:
    """Return an Encoder with a copy of the weights of PyTorch's; batch first in either
    case.

    Dropout and training mode are kept; requires_grad is True for all parameters.
    Raises ValueError for what an Encoder cannot keep: layers without biases, layers of
    different kinds or with weights in common, several shares of dropout, norms that are
    no nn.LayerNorm, an activation with parameters, and subclasses.
    Source: torch.nn.TransformerEncoder; Vaswani et al. (2017), section 3.1.
    """
    check_classes("module", module, nn.TransformerEncoder, nn.TransformerEncoderLayer)
    encoder = Encoder(len(module.layers), **layer_settings(module))
    if encoder.norm is not None:
        encoder.norm.eps = module.norm.eps  # may be another than that of the layers
    check_like("module", module, _new_torch_encoder(encoder))
    encoder.to(module.layers[0].linear1.weight)
    encoder.load_state_dict(names_from_torch(module.state_dict()))
    return encoder.train(module.training)


def encoder_to_torch(encoder: Encoder) -> nn.TransformerEncoder:
    """Return PyTorch's encoder, batch first, with a copy of an Encoder's weights.

    Dropout and training mode are kept; requires_grad is True for all parameters.
    Raises ValueError for several shares of dropout, layers of different kinds or with
    weights in common, an activation with parameters, and subclasses.
    Source: torch.nn.TransformerEncoder; Vaswani et al. (2017), section 3.1.
    """
    check_classes("encoder", encoder, Encoder, EncoderLayer)
    layer = encoder.layers[0]
    like = Encoder(
        len(encoder.layers),
        encoder.d_model,
        layer.self_attention.num_heads,
        layer.feed_forward.d_ff,
        dropout=one_dropout("encoder", encoder),
        norm_first=layer.norm_first,
        activation=layer.feed_forward.activation,
        eps=getattr(layer.norm1, "eps", None) or 0.0,
        final_norm=encoder.norm is not None,
    )
    if like.norm is not None:
        like.norm.eps = getattr(encoder.norm, "eps", None)
    check_like("encoder", encoder, like)
    module = _new_torch_encoder(encoder)
    module.to(layer.norm1.weight)
    module.load_state_dict(names_to_torch(encoder.state_dict()))
    return module.train(encoder.training)


def _new_torch_encoder(encoder: Encoder) -> nn.TransformerEncoder:
    return nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**torch_layer_settings(encoder)),
        len(encoder.layers),
        norm=torch_norm(encoder),
        enable_nested_tensor=False,
    )


def check_classes(name: str, stack: nn.Module, kind: type, layer_kind: type) -> None:
    """Raise ValueError, naming the argument, unless a stack and its layers are of these
    classes, and of no subclass.

    Source: this course.
    """
    parts = [(stack, kind), *((layer, layer_kind) for layer in stack.layers)]
    for part, wanted in parts:
        if type(part) is not wanted:
            raise ValueError(
                f"{name}: expected {wanted.__name__} and no subclass of it, got"
                f" {type(part).__name__}: what it adds cannot be converted"
            )


def check_like(name: str, stack: nn.Module, like: nn.Module) -> None:
    """Raise ValueError, naming the part, unless stack is like with other weights.

    like: a stack that was built from the settings of stack's first layer. Each part
    must have the same class, settings and shapes of parameters there, and each layer
    weights of its own.
    Source: this course.
    """
    parts = dict(stack.named_modules(remove_duplicate=False))
    for path, part in like.named_modules(remove_duplicate=False):
        found, wanted = _traits(parts.pop(path, None)), _traits(part)
        for trait in (*wanted, *(found.keys() - wanted.keys())):
            if found.get(trait) != wanted.get(trait):
                raise ValueError(
                    f"{name}: expected {trait} = {wanted.get(trait)} for"
                    f" {path or 'the stack'}, got {found.get(trait)}"
                )
        if path.endswith("activation") and list(part.parameters()):
            raise ValueError(f"{name}: expected no parameters in {path}, got {part}")
    if parts:
        raise ValueError(f"{name}: {next(iter(parts))} cannot be converted")
    if len(list(stack.parameters())) != len(list(like.parameters())):
        raise ValueError(f"{name}: expected no weights in common between layers")


def _traits(part: nn.Module | None) -> dict:
    if part is None:
        return {"class": None}
    skipped = ("training", "batch_first", "mask_check")  # do not change the function
    settings = {
        key: value
        for key, value in vars(part).items()
        if key not in skipped and not key.startswith("_") and "nested" not in key
    }
    shapes = {name: tuple(p.shape) for name, p in part.named_parameters(recurse=False)}
    return {"class": type(part), **settings, **shapes}


def layer_settings(module: nn.Module) -> dict:
    """Return the arguments for an Encoder or Decoder like PyTorch's stack, but for
    num_layers.

    Raises ValueError as encoder_from_torch.
    Source: torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
    """
    kinds = {
        (
            layer.self_attn.embed_dim,
            layer.self_attn.num_heads,
            layer.linear1.out_features,
            layer.dropout.p,
            layer.norm_first,
            layer.norm1.eps,
            layer.linear1.bias is not None,
            getattr(layer.activation, "__name__", type(layer.activation).__name__),
        )
        for layer in module.layers
    }
    if len(kinds) != 1:
        raise ValueError(f"module: expected layers of one kind, got {len(kinds)} kinds")
    d_model, num_heads, d_ff, _, norm_first, eps, bias, _ = kinds.pop()
    if not bias:
        raise ValueError("module: expected bias=True, got False")
    check_norms("module", module)
    dropout = one_dropout("module", module)
    return {
        "d_model": d_model,
        "num_heads": num_heads,
        "d_ff": d_ff,
        "dropout": dropout,
        "norm_first": norm_first,
        "eps": eps,
        "activation": module.layers[0].activation,
        "final_norm": module.norm is not None,
    }


def one_dropout(name: str, stack: nn.Module) -> float:
    """Return the share that all parts of a stack drop.

    Raises ValueError, naming the argument, where there is more than one.
    Source: the three places of torch.nn.TransformerEncoderLayer.
    """
    shares = {m.p for m in stack.modules() if isinstance(m, nn.Dropout)}
    attentions = (nn.MultiheadAttention, MultiHeadAttention)
    shares |= {m.dropout for m in stack.modules() if isinstance(m, attentions)}
    if len(shares) != 1:
        raise ValueError(
            f"{name}: expected one share of dropout everywhere, got {sorted(shares)}"
        )
    return shares.pop()


def check_norms(name: str, stack: nn.Module) -> None:
    """Raise ValueError, naming the argument, for norms unlike LayerNorm.

    Source: this course.
    """
    norms = [getattr(stack, "norm", None)]
    for layer in stack.layers:
        ours = [part for key, part in layer.named_children() if key.startswith("norm")]
        norms += ours
        if len({getattr(norm, "eps", None) for norm in ours}) > 1:
            raise ValueError(f"{name}: expected one eps for the norms of a layer")
    for norm in norms:
        if norm is not None and not (
            isinstance(norm, nn.LayerNorm)
            and norm.weight is not None
            and norm.bias is not None
        ):
            raise ValueError(
                f"{name}: expected nn.LayerNorm with weight and bias, got {norm}"
            )


def torch_layer_settings(stack: nn.Module) -> dict:
    """Return arguments for PyTorch's layer like those of an Encoder or a Decoder.

    Raises ValueError for several shares of dropout.
    Source: torch.nn.TransformerEncoderLayer and TransformerDecoderLayer.
    """
    layer = stack.layers[0]
    return {
        "d_model": layer.d_model,
        "nhead": layer.self_attention.num_heads,
        "dim_feedforward": layer.feed_forward.d_ff,
        "dropout": one_dropout("stack", stack),
        "activation": layer.feed_forward.activation,
        "norm_first": layer.norm_first,
        "layer_norm_eps": layer.norm1.eps,
        "batch_first": True,
    }


def torch_norm(stack: nn.Module) -> nn.LayerNorm | None:
    """Return PyTorch's layer norm for the end of a stack, where the stack has one.

    Source: torch.nn.TransformerEncoder, argument norm.
    """
    return (
        None if stack.norm is None else nn.LayerNorm(stack.d_model, eps=stack.norm.eps)
    )

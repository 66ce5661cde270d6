"""Multi-head attention: three implementations, PyTorch's module, and masks."""

import math
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from transformer.attention import padding_mask
from transformer.multihead import (
    BatchedHeads,
    ListOfHeads,
    MultiHeadAttention,
    average_heads,
    copy_packed,
    from_torch,
    mask_for_heads,
    mask_keys,
    merge_heads,
    split_heads,
    to_torch,
)

torch.set_num_threads(1)
exam = settings(max_examples=100, deadline=None, derandomize=True)

MASK_KINDS = ("none", "2", "3", "4 shared", "4", "keys")


@st.composite
def cases(draw, kinds=MASK_KINDS, widths=True):
    """Sizes, widths, bias, a kind of mask and a seed."""
    heads, d_head = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    width = st.none() | st.integers(1, 9) | st.just(heads * d_head)
    return {
        "batch": draw(st.integers(1, 4)),
        "t_q": draw(st.integers(1, 6)),
        "t_k": draw(st.integers(1, 6)),
        "heads": heads,
        "d_model": heads * d_head,
        "kdim": draw(width) if widths else None,
        "vdim": draw(width) if widths else None,
        "bias": draw(st.booleans()),
        "kind": draw(st.sampled_from(kinds)),
        "seed": draw(st.integers(0, 10_000)),
    }


def make_mask(case, empty_row):
    """A mask of the case's kind, and the same in full (B, h, T_q, T_k)."""
    batch, heads, t_q, t_k = case["batch"], case["heads"], case["t_q"], case["t_k"]
    shape = {
        "none": (1, 1, 1, 1),
        "2": (t_q, t_k),
        "3": (batch, t_q, t_k),
        "4 shared": (batch, 1, t_q, t_k),
        "4": (batch, heads, t_q, t_k),
        "keys": (batch, t_k),
    }[case["kind"]]
    mask = torch.rand(shape) > 0.5
    if case["kind"] == "none":
        return None, torch.ones(batch, heads, t_q, t_k, dtype=torch.bool)
    if empty_row:
        mask[(0,) * (mask.dim() - 1)] = False
    else:
        keep = torch.randint(shape[-1], (*shape[:-1], 1))
        mask = mask.scatter(-1, keep, True)
    if case["kind"] == "keys":
        mask = mask_keys(mask)
    # Written out by hand, so that mask_for_heads is not its own judge.
    full = {
        "2": lambda: mask.view(1, 1, t_q, t_k),
        "3": lambda: mask.view(batch, 1, t_q, t_k),
    }.get(case["kind"], lambda: mask)().expand(batch, heads, t_q, t_k)
    return mask, full


def make_inputs(case):
    """Query, key and value of the case's shapes, float64, that record gradients."""
    shapes = (
        (case["batch"], case["t_q"], case["d_model"]),
        (case["batch"], case["t_k"], case["kdim"] or case["d_model"]),
        (case["batch"], case["t_k"], case["vdim"] or case["d_model"]),
    )
    return [
        torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes
    ]


def make_torch(case, **options):
    """PyTorch's module of the case's sizes with random weights, biases included."""
    torch.manual_seed(case["seed"])
    module = nn.MultiheadAttention(
        case["d_model"],
        case["heads"],
        bias=case["bias"],
        kdim=case["kdim"],
        vdim=case["vdim"],
        **{"batch_first": True, **options},
    ).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.7)
    return module


def by_formula(attention, query, key, value, full):
    """Concat of head outputs (B, T_q, D) and weights, one row at a time, for any mask."""
    (w_q, b_q), (w_k, b_k), (w_v, b_v) = attention.projections()
    d_head = attention.d_model // attention.num_heads
    batch, t_q = query.shape[:2]
    concat = torch.zeros(batch, t_q, attention.d_model, dtype=query.dtype)
    weights = torch.zeros(full.shape, dtype=query.dtype)
    for b in range(batch):
        q = F.linear(query[b], w_q, b_q)  # (T_q, D)
        k = F.linear(key[b], w_k, b_k)  # (T_k, D)
        v = F.linear(value[b], w_v, b_v)  # (T_k, D)
        for head in range(attention.num_heads):
            part = slice(head * d_head, (head + 1) * d_head)
            for i in range(t_q):
                open_keys = full[b, head, i].nonzero()[:, 0]
                if len(open_keys):
                    row = torch.softmax(
                        k[open_keys, part] @ q[i, part] / math.sqrt(d_head), dim=0
                    )
                    concat[b, i, part] = row @ v[open_keys, part]
                    weights[b, head, i, open_keys] = row
    return concat, weights


# The three implementations


@exam
@given(cases(widths=False), st.booleans())
def test_the_three_implementations_agree(case, empty_row):
    torch.manual_seed(case["seed"])
    packed = from_torch(make_torch(case))
    mask, full = make_mask(case, empty_row)
    results = []
    for kind in (None, ListOfHeads, BatchedHeads):
        layer = packed
        if kind:
            layer = kind(case["d_model"], case["heads"], bias=case["bias"]).double()
            copy_packed(packed, layer)
        torch.manual_seed(case["seed"] + 1)
        inputs = make_inputs(case)
        options = {} if kind else {"need_weights": True}
        output, weights = layer(*inputs, mask, **options)
        gradients = torch.autograd.grad(output.square().sum(), inputs)
        results.append((output, weights, *gradients))
    for other in results[1:]:
        for a, b in zip(other, results[0], strict=True):
            assert_close(a, b)
    concat, weights = by_formula(packed, *inputs, full)
    assert_close(results[0][0], packed.out_proj(concat))
    assert_close(results[0][1], weights)


def test_parameter_gradients_of_the_three_agree():
    packed = MultiHeadAttention(6, 3).double()
    by_list, by_bmm = ListOfHeads(6, 3).double(), BatchedHeads(6, 3).double()
    x = torch.randn(2, 4, 6, dtype=torch.float64)
    for layer in (by_list, by_bmm):
        copy_packed(packed, layer)
    for layer in (packed, by_list, by_bmm):
        layer(x, x, x)[0].square().sum().backward()
    for which, name in enumerate(("W_q", "W_k", "W_v")):
        wanted = packed.qkv_proj.weight.grad.chunk(3)[
            which
        ]  # (D, D), rows belong to the heads
        assert_close(
            torch.cat([linear.weight.grad for linear in getattr(by_list, name)]), wanted
        )
        assert_close(by_bmm.W.grad[which].transpose(1, 2).reshape(6, 6), wanted)
    for layer in (by_list, by_bmm):
        assert_close(layer.out_proj.weight.grad, packed.out_proj.weight.grad)


@pytest.mark.parametrize("kind", [MultiHeadAttention, ListOfHeads, BatchedHeads])
def test_number_of_parameters_does_not_depend_on_the_heads(kind):
    for bias in (True, False):
        for heads in (1, 2, 8):
            count = sum(p.numel() for p in kind(16, heads, bias=bias).parameters())
            assert count == 4 * 16**2 + (4 * 16 if bias else 0)


def test_copy_packed_refuses_other_sizes():
    for attention in (
        MultiHeadAttention(8, 4),
        MultiHeadAttention(4, 2),
        MultiHeadAttention(8, 2, bias=False),
        MultiHeadAttention(8, 2, kdim=3),
    ):
        for kind in (ListOfHeads, BatchedHeads):
            with pytest.raises(
                ValueError, match=r"attention: expected .*\(8, 2, True\).*got"
            ):
                copy_packed(attention, kind(8, 2))


# Splitting and merging


def test_split_heads_puts_each_number_where_it_belongs():
    x = torch.arange(2 * 3 * 8).view(2, 3, 8)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    for b in range(2):
        for i in range(4):
            for t in range(3):
                assert heads[b, i, t].tolist() == x[b, t, 2 * i : 2 * i + 2].tolist()
    assert torch.equal(merge_heads(heads), x)


def test_every_word_reaches_every_output_and_order_does_not_matter():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 4).double()
    x = torch.randn(1, 6, 8, dtype=torch.float64)
    output, _ = attention(x, x, x)
    for j in range(6):
        changed = x.clone()
        changed[0, j] += 1
        moved = (attention(changed, changed, changed)[0] - output).abs().amax(dim=-1)
        assert (moved > 1e-9).all(), f"changing word {j} leaves some output as it was"
    order = torch.randperm(6)
    assert_close(attention(x[:, order], x[:, order], x[:, order])[0], output[:, order])


# PyTorch's module


@exam
@given(cases(), st.booleans())
def test_parity_with_pytorch(case, batch_first):
    module = make_torch(case, batch_first=batch_first)
    attention = from_torch(module)
    mask, full = make_mask(case, empty_row=False)
    inputs = make_inputs(case)
    direction = torch.randn(
        case["batch"], case["t_q"], case["d_model"], dtype=torch.float64
    )

    theirs = inputs if batch_first else [x.transpose(0, 1) for x in inputs]
    options = {"attn_mask": ~full.flatten(0, 1)}
    wanted, wanted_weights = module(*theirs, **options, average_attn_weights=False)
    _, wanted_average = module(*theirs, **options)
    if not batch_first:
        wanted = wanted.transpose(0, 1)
    wanted_gradients = torch.autograd.grad(wanted, inputs, direction, retain_graph=True)
    wanted.backward(direction)

    for need_weights in (True, False):
        output, weights = attention(*inputs, mask, need_weights=need_weights)
        assert_close(output, wanted)
        assert_close(torch.autograd.grad(output, inputs, direction), wanted_gradients)
        if need_weights:
            assert_close(weights, wanted_weights)
            assert_close(average_heads(weights), wanted_average)
        else:
            assert weights is None

    output, _ = attention(*inputs, mask)
    attention.zero_grad()
    output.backward(direction)
    weights = [p.weight.grad for p in projections(attention)]
    if module.in_proj_weight is not None:
        assert_close(torch.cat(weights), module.in_proj_weight.grad)
    else:
        theirs = (module.q_proj_weight, module.k_proj_weight, module.v_proj_weight)
        for a, b in zip(weights, theirs, strict=True):
            assert_close(a, b.grad)
    assert_close(attention.out_proj.weight.grad, module.out_proj.weight.grad)
    if case["bias"]:
        biases = [p.bias.grad for p in projections(attention)]
        assert_close(torch.cat(biases), module.in_proj_bias.grad)
        assert_close(attention.out_proj.bias.grad, module.out_proj.bias.grad)


def projections(attention):
    """The modules that hold W_q, W_k and W_v: one, or three."""
    if attention.packed:
        return [attention.qkv_proj]
    return [attention.q_proj, attention.k_proj, attention.v_proj]


@exam
@given(cases(kinds=("keys",)))
def test_parity_of_key_padding(case):
    module = make_torch(case)
    inputs = make_inputs(case)
    real = torch.rand(case["batch"], case["t_k"]) > 0.4
    real[:, 0] = True
    wanted, wanted_weights = module(*inputs, key_padding_mask=~real)
    output, weights = from_torch(module)(*inputs, mask_keys(real), need_weights=True)
    assert_close(output, wanted)
    assert_close(average_heads(weights), wanted_weights)
    ids = torch.where(real, 5, 3)
    assert_close(from_torch(module)(*inputs, padding_mask(ids, pad_id=3))[0], wanted)


@exam
@given(cases(), st.booleans())
def test_weights_go_there_and_back(case, batch_first):
    module = make_torch(case)
    back = to_torch(from_torch(module), batch_first=batch_first)
    assert back.batch_first is batch_first
    assert back.state_dict().keys() == module.state_dict().keys()
    for name, weight in module.state_dict().items():
        assert torch.equal(back.state_dict()[name], weight), name

    attention = from_torch(module)
    again = from_torch(to_torch(attention))
    for name, weight in attention.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
        assert weight.data_ptr() != again.state_dict()[name].data_ptr()


def test_conversion_keeps_dtype_mode_and_dropout_and_shares_no_memory():
    module = nn.MultiheadAttention(8, 2, dropout=0.3).to(torch.bfloat16).eval()
    attention = from_torch(module)
    assert (
        attention.out_proj.weight.dtype
        == attention.qkv_proj.weight.dtype
        == torch.bfloat16
    )
    assert attention.dropout == to_torch(attention).dropout == 0.3
    assert not attention.training
    assert not to_torch(attention).training
    assert to_torch(attention.train()).training
    assert to_torch(attention).out_proj.weight.dtype == torch.bfloat16
    before = attention.out_proj.weight.clone()
    nn.init.zeros_(module.out_proj.weight)
    assert torch.equal(attention.out_proj.weight, before)


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_from_torch_refuses_what_the_paper_lacks(option):
    with pytest.raises(ValueError, match=f"module: expected {option}=False, got True"):
        from_torch(nn.MultiheadAttention(8, 2, **{option: True}))


# Rows with nothing to attend to


@exam
@given(cases(kinds=("2", "3", "4 shared", "4", "keys")))
def test_an_empty_row_gives_zeros_and_finite_gradients(case):
    attention = from_torch(make_torch(case))
    mask, full = make_mask(case, empty_row=True)
    inputs = make_inputs(case)
    concat, wanted_weights = by_formula(attention, *inputs, full)
    loss = attention.out_proj(concat).square().sum()
    wanted = torch.autograd.grad(loss, inputs, materialize_grads=True)
    assert (~full.any(dim=-1)).any(), "the case has an empty row"
    for need_weights in (True, False):
        output, weights = attention(*inputs, mask, need_weights=need_weights)
        assert_close(output, attention.out_proj(concat))
        if need_weights:
            assert_close(weights, wanted_weights)
        gradients = torch.autograd.grad(output.square().sum(), inputs)
        assert_close(gradients, wanted)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16]
)
def test_all_rows_empty(need_weights, dtype):
    attention = MultiHeadAttention(8, 2).to(dtype)
    x = torch.randn(2, 3, 8, dtype=dtype, requires_grad=True)
    mask = torch.zeros(3, 3, dtype=torch.bool)
    output, _ = attention(x, x, x, mask, need_weights=need_weights)
    assert torch.equal(output, torch.zeros_like(output))  # a fresh bias is zero
    output.sum().backward()
    assert torch.equal(x.grad, torch.zeros_like(x))
    assert all(p.grad.isfinite().all() for p in attention.parameters())


# The interface that later chapters need


def test_the_fused_kernel_runs_exactly_where_no_weights_are_wanted():
    attention, x = MultiHeadAttention(8, 2), torch.randn(2, 3, 8)
    fused = F.scaled_dot_product_attention
    with patch(
        "torch.nn.functional.scaled_dot_product_attention", side_effect=fused
    ) as kernel:
        attention(x, x, x, need_weights=True)
        assert kernel.call_count == 0
        assert attention(x, x, x)[1] is None
        assert kernel.call_count == 1


def test_the_two_halves_of_forward_make_a_cache():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2).double()
    x = torch.randn(3, 5, 8, dtype=torch.float64)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    whole, _ = attention(x, x, x, causal)
    keys, values, steps = [], [], []
    for t in range(5):
        word = x[:, t : t + 1]
        key, value = attention.project_key_value(word, word)
        keys.append(key)
        values.append(value)
        query = attention.project_query(word)
        steps.append(
            attention.attend(query, torch.cat(keys, dim=2), torch.cat(values, dim=2))[0]
        )
    assert_close(torch.cat(steps, dim=1), whole)


def test_packed_self_attention_equals_the_general_road():
    attention = MultiHeadAttention(8, 2).double()
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    products = []
    attention.qkv_proj.register_forward_hook(lambda *_: products.append(1))
    assert_close(attention(x, x, x)[0], attention(x, x.clone(), x.clone())[0])
    assert len(products) == 1, (
        "self-attention makes queries, keys and values in one product"
    )
    other = torch.randn_like(x)  # the same object twice is not yet self-attention
    assert_close(attention(x, x, other)[0], attention(x, x.clone(), other)[0])
    assert_close(attention(x, other, other)[0], attention(x, other, other.clone())[0])
    assert MultiHeadAttention(8, 2, kdim=8, vdim=8).packed
    assert not MultiHeadAttention(8, 2, vdim=9).packed


def test_a_batch_of_one_equals_a_batch_of_many():
    attention = MultiHeadAttention(8, 2).double()
    x, memory = torch.randn(4, 3, 8).double(), torch.randn(4, 5, 8).double()
    many, _ = attention(x, memory, memory)
    for b in range(4):
        part = memory[b : b + 1]
        assert_close(attention(x[b : b + 1], part, part)[0], many[b : b + 1])


def test_inputs_and_mask_are_not_changed():
    attention = MultiHeadAttention(8, 2)
    inputs = [torch.randn(2, 3, 8), torch.randn(2, 4, 8), torch.randn(2, 4, 8)]
    mask = torch.rand(2, 3, 4) > 0.5
    copies = [x.clone() for x in (*inputs, mask)]
    for need_weights in (True, False):
        attention(*inputs, mask, need_weights=need_weights)
    for copy, x in zip(copies, (*inputs, mask), strict=True):
        assert torch.equal(copy, x)


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout_acts_on_the_weights_in_training_only(need_weights):
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, dropout=0.5)
    plain = MultiHeadAttention(8, 2)
    plain.load_state_dict(attention.state_dict())
    x = torch.randn(1, 4, 8)
    wanted, weights = plain(x, x, x, need_weights=need_weights)
    output, kept = attention.eval()(x, x, x, need_weights=need_weights)
    assert_close(output, wanted)

    attention.train()
    many = x.expand(20_000, -1, -1).contiguous()
    output, kept = attention(many, many, many, need_weights=need_weights)
    assert (output - wanted).abs().amax(dim=(1, 2)).min() > 0, (
        "each sentence lost some weight"
    )
    assert_close(output.mean(dim=0), wanted[0], atol=0.02, rtol=0)
    if need_weights:  # the weights that are returned are those before dropout
        assert_close(kept[:1], weights)


def test_each_matrix_starts_within_its_own_xavier_bound():
    torch.manual_seed(0)
    for attention in (
        MultiHeadAttention(128, 4),
        MultiHeadAttention(128, 4, kdim=64, vdim=200),
    ):
        widths = (128, attention.kdim, attention.vdim)
        for (weight, bias), width in zip(attention.projections(), widths, strict=True):
            bound = math.sqrt(6 / (128 + width))
            assert 0.99 * bound < weight.abs().max() <= bound
            assert not bias.any()
        bound = math.sqrt(6 / 256)
        assert 0.99 * bound < attention.out_proj.weight.abs().max() <= bound


# Masks


@exam
@given(cases(kinds=("2", "3", "4 shared", "4", "keys")))
def test_mask_for_heads_reads_a_mask_by_its_axes(case):
    torch.manual_seed(case["seed"])
    mask, full = make_mask(case, empty_row=False)
    sizes = (case["batch"], case["heads"], case["t_q"], case["t_k"])
    four = mask_for_heads(mask, *sizes)
    assert four.dim() == 4
    assert torch.equal(four.expand(sizes), full)
    assert four.data_ptr() == mask.data_ptr(), "a view, not a copy"


def test_two_axes_are_queries_and_keys_even_where_keys_would_fit():
    real = torch.tensor([[True, True, True], [True, False, False], [True, True, False]])
    as_queries = mask_for_heads(real, 3, 2, 3, 3).expand(3, 2, 3, 3)
    as_keys = mask_for_heads(mask_keys(real), 3, 2, 3, 3).expand(3, 2, 3, 3)
    assert torch.equal(as_queries[2, 1], real)
    assert torch.equal(as_keys[2, 1], real[2].expand(3, 3))


class WithKeys(torch.nn.Module):
    """Attention over memory with a mask of keys, as a model would export it."""

    def __init__(self, need_weights):
        super().__init__()
        self.attention = MultiHeadAttention(8, 2, kdim=6, vdim=4)
        self.need_weights = need_weights

    def forward(self, query, key, value, real):
        return self.attention(query, key, value, mask_keys(real), self.need_weights)[0]


@pytest.mark.slow
@pytest.mark.parametrize("need_weights", [True, False])
def test_exported_program_takes_other_batches_and_lengths(need_weights):
    def draw(batch, t_q, t_k):
        parts = (t_q, 8), (t_k, 6), (t_k, 4)
        real = torch.ones(batch, t_k, dtype=torch.bool)
        real[0, -1] = False
        return *(torch.randn(batch, *part) for part in parts), real

    batch, t_q, t_k = map(torch.export.Dim, ("batch", "t_q", "t_k"))
    shapes = ({0: batch, 1: t_q}, *[{0: batch, 1: t_k}] * 3)
    model = WithKeys(need_weights).eval()
    program = torch.export.export(model, draw(3, 5, 7), dynamic_shapes=shapes).module()
    for sizes in ((3, 5, 7), (6, 2, 4)):
        arguments = draw(*sizes)
        assert_close(program(*arguments), model(*arguments))

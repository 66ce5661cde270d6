"""The whole Transformer: parity with nn.Transformer, behaviour, tying, greedy decoding."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from transformer.attention import padding_mask
from transformer.decoder import causal_mask
from transformer.encoder import names_to_torch
from transformer.model import (
    Transformer,
    check_ids,
    greedy_decode,
    make_positions,
    transformer_from_torch,
    transformer_to_torch,
)

torch.set_num_threads(1)
exam = settings(max_examples=20, deadline=None, derandomize=True)
exact = {"rtol": 0, "atol": 1e-10}
SRC_VOCAB, TGT_VOCAB = 13, 11


@st.composite
def cases(draw):
    """Sizes, kinds of everything, a pad id and a seed."""
    heads = draw(st.integers(1, 3))
    return {
        "batch": draw(st.integers(1, 4)),
        "src": draw(st.integers(1, 6)),
        "tgt": draw(st.integers(1, 6)),
        "pad": draw(st.integers(0, 10)),
        "seed": draw(st.integers(0, 10_000)),
        "training": draw(st.booleans()),
        "model": {
            "num_heads": heads,
            "d_model": heads * draw(st.integers(1, 5)),
            "d_ff": draw(st.integers(1, 12)),
            "num_encoder_layers": draw(st.integers(1, 2)),
            "num_decoder_layers": draw(st.integers(1, 3)),
            "norm_first": draw(st.booleans()),
            "final_norm": draw(st.sampled_from([None, True])),
            "positions": draw(st.sampled_from(["sinusoidal", "learned", "none"])),
            "tie_output": draw(st.booleans()),
            "activation": draw(st.sampled_from([F.relu, F.gelu])),
        },
    }


def make_model(case, **settings):
    torch.manual_seed(case["seed"])
    model = Transformer(
        SRC_VOCAB,
        TGT_VOCAB,
        pad_id=case["pad"],
        dropout=0.0,
        max_len=30,
        **case["model"] | settings,
    ).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
    return model.train(case["training"])


def draw_ids(shape, vocab, pad):
    """Token ids without the pad id."""
    ids = torch.randint(vocab - 1, shape)
    return ids + (ids >= pad)


def make_ids(case):
    """A batch of padded sources and targets; each sentence has a real token."""
    sides = []
    for length, vocab in ((case["src"], SRC_VOCAB), (case["tgt"], TGT_VOCAB)):
        ids = draw_ids((case["batch"], length), vocab, case["pad"])
        real = torch.arange(length) < torch.randint(1, length + 1, (case["batch"], 1))
        sides.append(ids.masked_fill(~real, case["pad"]))
    return sides


# Parity


@exam
@given(cases())
def test_stacks_equal_nn_transformer_in_value_and_gradient(case):
    ours = make_model(case, final_norm=True)
    theirs = transformer_to_torch(ours)
    assert theirs.training == case["training"]
    src, tgt = make_ids(case)
    x = torch.randn(*src.shape, ours.d_model, dtype=torch.float64, requires_grad=True)
    y = torch.randn(*tgt.shape, ours.d_model, dtype=torch.float64, requires_grad=True)
    hide_src, hide_tgt, causal = (
        src == case["pad"],
        tgt == case["pad"],
        causal_mask(case["tgt"]),
    )
    expected = (
        theirs.train()(  # dropout is 0; eval mode would take a path without gradients
            x,
            y,
            tgt_mask=~causal,
            src_key_padding_mask=hide_src,
            tgt_key_padding_mask=hide_tgt,
            memory_key_padding_mask=hide_src,
        )
    )
    memory, _ = ours.encoder(x, ~hide_src[:, None])
    result, _ = ours.decoder(y, memory, causal & ~hide_tgt[:, None], ~hide_src[:, None])
    assert_close(result, expected, **exact)
    upstream = torch.randn_like(result)
    assert_close(
        torch.autograd.grad(result, (x, y), upstream, retain_graph=True),
        torch.autograd.grad(expected, (x, y), upstream, retain_graph=True),
        **exact,
    )
    result.backward(upstream)
    expected.backward(upstream)
    for mine, other in ((ours.encoder, theirs.encoder), (ours.decoder, theirs.decoder)):
        grads = names_to_torch({name: p.grad for name, p in mine.named_parameters()})
        for name, parameter in other.named_parameters():
            assert_close(grads.pop(name), parameter.grad, **exact)
        assert not grads


@pytest.mark.parametrize("norm_first", [False, True])
def test_parity_in_float32(norm_first):
    torch.manual_seed(3)
    ours = Transformer(
        9,
        9,
        pad_id=0,
        d_model=16,
        num_heads=4,
        d_ff=32,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dropout=0.0,
        norm_first=norm_first,
        final_norm=True,
    )
    theirs = transformer_to_torch(ours)
    x, y = (torch.randn(2, n, 16, requires_grad=True) for n in (5, 4))
    expected = theirs(x, y, tgt_mask=~causal_mask(4))
    result, _ = ours.decoder(y, ours.encoder(x)[0])
    assert_close(result, expected, rtol=1e-5, atol=1e-5)
    upstream = torch.randn_like(result)
    mine, other = (
        torch.autograd.grad(out, (x, y), upstream) for out in (result, expected)
    )
    assert_close(mine, other, rtol=1e-5, atol=1e-5)


@exam
@given(cases())
def test_converters_are_inverse(case):
    ours = make_model(case, final_norm=True)
    again = transformer_from_torch(
        transformer_to_torch(ours),
        SRC_VOCAB,
        TGT_VOCAB,
        pad_id=case["pad"],
        positions=case["model"]["positions"],
    )
    assert again.training == ours.training
    for stack in ("encoder", "decoder"):
        state = getattr(ours, stack).state_dict()
        assert getattr(again, stack).state_dict().keys() == state.keys()
        for name, tensor in getattr(again, stack).state_dict().items():
            assert torch.equal(tensor, state[name])
    src, tgt = make_ids(case)
    assert again(src, tgt).shape == (*tgt.shape, TGT_VOCAB)


def test_a_model_without_final_norms_is_no_nn_transformer():
    model = Transformer(
        5,
        5,
        pad_id=0,
        d_model=4,
        num_heads=2,
        d_ff=4,
        num_encoder_layers=1,
        num_decoder_layers=1,
    )
    with pytest.raises(ValueError, match="model: expected final_norm=True"):
        transformer_to_torch(model)


# Behaviour


@exam
@given(cases())
def test_the_future_changes_nothing_in_the_past(case):
    model = make_model(case)
    src, tgt = make_ids(case)
    tgt = draw_ids(tgt.shape, TGT_VOCAB, case["pad"])
    t = case["seed"] % case["tgt"] + 1
    changed = torch.cat(
        [tgt[:, :t], draw_ids(tgt[:, t:].shape, TGT_VOCAB, case["pad"])], dim=1
    )
    assert_close(model(src, changed)[:, :t], model(src, tgt)[:, :t], **exact)


def loss_of(model, src, tgt):
    """Summed loss of the real tokens of tgt (B, T + 1), and its gradients."""
    logits = model(src, tgt[:, :-1]).flatten(0, 1)
    loss = F.cross_entropy(
        logits, tgt[:, 1:].flatten(), ignore_index=model.pad_id, reduction="sum"
    )
    return loss, torch.autograd.grad(loss, list(model.parameters()))


@exam
@given(cases(), st.integers(0, 3))
def test_a_batch_equals_its_sentences_and_padding_changes_nothing(case, extra):
    model = make_model(case)
    torch.manual_seed(case["seed"] + 1)
    sentences = [
        (
            draw_ids(
                (1, int(torch.randint(1, case["src"] + 1, ()))), SRC_VOCAB, case["pad"]
            ),
            draw_ids(
                (1, int(torch.randint(2, case["tgt"] + 3, ()))), TGT_VOCAB, case["pad"]
            ),
        )
        for _ in range(case["batch"])
    ]
    src, tgt = (
        torch.cat(
            [
                F.pad(
                    ids,
                    (0, max(x.shape[1] for x in side) + extra - ids.shape[1]),
                    value=case["pad"],
                )
                for ids in side
            ]
        )
        for side in zip(*sentences, strict=True)
    )
    logits = model(src, tgt)
    total, grads = 0.0, [torch.zeros_like(p) for p in model.parameters()]
    for i, (one_src, one_tgt) in enumerate(sentences):
        alone = model(one_src, one_tgt)
        assert_close(logits[i : i + 1, : one_tgt.shape[1]], alone, **exact)
        loss, own = loss_of(model, one_src, one_tgt)
        total = total + loss
        grads = [a + b for a, b in zip(grads, own, strict=True)]
    loss, together = loss_of(model, src, tgt)
    assert_close(loss, total)
    assert_close(list(together), grads, rtol=1e-7, atol=1e-9)


@exam
@given(cases())
def test_the_vector_of_padding_does_not_matter(case):
    model = make_model(case, tie_output=False)
    src, tgt = make_ids(case)
    before = model(src, tgt)
    with torch.no_grad():
        model.src_embedding.weight[case["pad"]] = 50.0
        model.tgt_embedding.weight[case["pad"]] = -50.0
    real = tgt != case["pad"]
    assert_close(model(src, tgt)[real], before[real], **exact)


def test_an_all_padding_source_is_finite_with_finite_gradients():
    case = {
        "seed": 0,
        "pad": 3,
        "training": True,
        "model": {
            "d_model": 5,
            "num_heads": 1,
            "d_ff": 7,
            "num_encoder_layers": 2,
            "num_decoder_layers": 2,
        },
    }  # odd width, one head
    for norm_first in (False, True):
        model = make_model(case, norm_first=norm_first)
        loss, grads = loss_of(
            model, torch.full((2, 4), 3), torch.tensor([[1, 2, 4], [1, 3, 3]])
        )
        assert all(torch.isfinite(x).all() for x in (loss, *grads))
        memory, maps = model.encode(torch.full((2, 4), 3), need_weights=True)
        assert not any(weights.any() for weights in maps)
        assert torch.isfinite(memory).all()


@exam
@given(cases(), st.data())
def test_step_by_step_equals_all_at_once_positions_included(case, data):
    model = make_model(case).eval()
    src, tgt = make_ids(case)
    tgt = draw_ids(tgt.shape, TGT_VOCAB, case["pad"])
    cut = data.draw(st.integers(0, case["tgt"] - 1))
    parts = [
        part for part in (tgt[:, :cut], *tgt[:, cut:].split(1, dim=1)) if part.numel()
    ]
    mask = padding_mask(src, case["pad"])
    with torch.no_grad():
        memory, _ = model.encode(src)
        cache = model.init_cache(memory, case["tgt"])
        stepped = [model.decode(part, None, mask, cache=cache)[0] for part in parts]
        assert_close(torch.cat(stepped, dim=1), model(src, tgt), **exact)


def test_maps_of_a_decode_are_those_of_its_logits():
    torch.manual_seed(0)
    model = Transformer(
        9,
        9,
        pad_id=8,
        d_model=8,
        num_heads=2,
        d_ff=8,
        num_encoder_layers=2,
        num_decoder_layers=2,
        dropout=0.0,
    )
    src, tgt = torch.tensor([[1, 2, 3], [4, 8, 8]]), torch.tensor([[1, 5], [1, 8]])
    copies = src.clone(), tgt.clone()
    memory, maps = model.encode(src, need_weights=True)
    logits, pairs = model.decode(tgt, memory, padding_mask(src, 8), need_weights=True)
    assert_close(logits, model(src, tgt))
    assert [tuple(m.shape) for m in maps] == [(2, 2, 3, 3)] * 2
    assert all(
        own.shape == (2, 2, 2, 2) and cross.shape == (2, 2, 2, 3)
        for own, cross in pairs
    )
    assert not any(cross[1, :, :, 1:].any() for _, cross in pairs)
    assert torch.equal(src, copies[0])
    assert torch.equal(tgt, copies[1])


def test_tied_weights_are_one_parameter_with_both_gradients():
    options = {
        "pad_id": 0,
        "d_model": 8,
        "num_heads": 2,
        "d_ff": 8,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "dropout": 0.0,
    }
    tied, untied = (
        Transformer(9, 7, **options),
        Transformer(9, 7, tie_output=False, **options),
    )
    assert tied.output_proj.weight is tied.tgt_embedding.weight
    assert untied.output_proj.weight is not untied.tgt_embedding.weight
    count = [sum(p.numel() for p in model.parameters()) for model in (tied, untied)]
    assert count[1] - count[0] == 7 * 8
    untied.load_state_dict(tied.state_dict())
    src, tgt = torch.randint(1, 9, (2, 4)), torch.randint(1, 7, (2, 3))
    for model in (tied, untied):
        model(src, tgt).square().sum().backward()
    both = untied.tgt_embedding.weight.grad + untied.output_proj.weight.grad
    assert untied.tgt_embedding.weight.grad.any()
    assert_close(tied.tgt_embedding.weight.grad, both)
    shared = Transformer(9, 9, share_embeddings=True, **options)
    assert shared.src_embedding.weight is shared.output_proj.weight
    assert tied.double().output_proj.weight is tied.tgt_embedding.weight


# Greedy decoding


@exam
@given(cases(), st.integers(1, 8))
def test_greedy_is_the_same_with_and_without_cache_and_in_a_batch(case, max_len):
    bos, eos = [i for i in range(TGT_VOCAB) if i != case["pad"]][:2]
    model = make_model(case)
    src, _ = make_ids(case)
    options = {"bos_id": bos, "eos_id": eos, "max_len": max_len}
    written = greedy_decode(model, src, **options)
    assert model.training == case["training"]
    assert torch.equal(written, greedy_decode(model, src, use_cache=False, **options))
    assert 1 <= written.shape[1] <= max_len
    model.eval()
    for i, row in enumerate(written):
        one = src[i : i + 1][:, src[i] != case["pad"]]
        alone = greedy_decode(model, one, **options)[0]
        assert torch.equal(row[: len(alone)], alone)
        assert (row[len(alone) :] == case["pad"]).all()
        if eos in alone:
            assert alone.tolist().index(eos) == len(alone) - 1
        else:
            assert len(alone) == max_len
        prefix = torch.cat([torch.tensor([bos]), alone[:-1]])[None]
        logits = model(one, prefix)[0]  # (T, V)
        logits[:, case["pad"]] = -torch.inf
        assert torch.equal(logits.argmax(dim=-1), alone)


@pytest.mark.parametrize("training", [True, False])
def test_greedy_leaves_the_mode_also_after_an_error(training):
    model = Transformer(
        5,
        5,
        pad_id=0,
        d_model=4,
        num_heads=2,
        d_ff=4,
        num_encoder_layers=1,
        num_decoder_layers=1,
        positions="learned",
        max_len=4,
    )
    model.train(training)
    with pytest.raises(ValueError, match=r"max_len = 4"):
        greedy_decode(model, torch.ones(1, 5).long(), bos_id=1, eos_id=2, max_len=3)
    assert model.training == training


def test_greedy_stops_and_writes_no_gradient():
    model = Transformer(
        5,
        5,
        pad_id=0,
        d_model=4,
        num_heads=2,
        d_ff=4,
        num_encoder_layers=1,
        num_decoder_layers=1,
        tie_output=False,
    )
    with torch.no_grad():
        model.output_proj.weight.zero_()  # all logits equal: the first id that is not padding
    src = torch.ones(2, 3).long()
    assert greedy_decode(model, src, bos_id=2, eos_id=1, max_len=9).tolist() == [
        [1],
        [1],
    ]
    written = greedy_decode(model, src, bos_id=2, eos_id=3, max_len=4)
    assert written.tolist() == [[1] * 4] * 2
    assert not written.requires_grad


# Errors


def test_errors_name_the_argument():
    options = {
        "d_model": 4,
        "num_heads": 2,
        "d_ff": 4,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
    }
    model = Transformer(5, 6, pad_id=0, positions="learned", max_len=3, **options)
    free = Transformer(5, 6, pad_id=0, **options)
    ids = torch.ones(2, 3).long()
    memory, _ = model.encode(ids)

    def make(*sizes, **more):
        return lambda: Transformer(*sizes, **options | more)

    def greedy(src=ids, **more):
        defaults = {"bos_id": 1, "eos_id": 2, "max_len": 2}
        return lambda: greedy_decode(free, src, **defaults | more)

    wrong = (
        (r"src_vocab_size: expected a positive", make(0, 5, pad_id=0)),
        (
            r"pad_id: expected an id of both vocabularies, 0 to 4, got 5",
            make(5, 6, pad_id=5),
        ),
        (r"pad_id: expected", make(5, 6, pad_id=-1)),
        (
            r"positions: expected .* got 'rotary'",
            make(5, 6, pad_id=0, positions="rotary"),
        ),
        (r"positions: expected", lambda: make_positions("", 4, 9)),
        (r"share_embeddings: expected", make(5, 6, pad_id=0, share_embeddings=True)),
        (r"dropout: expected", make(5, 6, pad_id=0, dropout=-0.1)),
        (r"num_heads: expected a divisor", make(5, 6, pad_id=0, num_heads=3)),
        (
            r"num_decoder_layers|num_layers: expected",
            make(5, 6, pad_id=0, num_decoder_layers=0),
        ),
        (r"src: expected token ids", lambda: model(ids[:, :0], ids)),
        (r"src: expected token ids", lambda: model(ids[:0], ids[:0])),
        (r"src: expected token ids", lambda: model(ids[0], ids)),
        (r"tgt: expected token ids", lambda: model(ids, ids[:, :0])),
        (
            r"src: expected dtype torch.int64, got torch.float32",
            lambda: model(ids.float(), ids),
        ),
        (r"tgt: expected dtype", lambda: model(ids, ids.double())),
        (r"tgt: expected the batch size 2 of src, got 1", lambda: model(ids, ids[:1])),
        (r"ids: expected token ids in 0 to 4", lambda: free(ids + 4, ids)),
        (r"got 0 to 3", lambda: model(torch.ones(2, 4).long(), ids)),
        (r"got 0 to 3", lambda: model.decode(torch.ones(2, 4).long(), memory)),
        (
            r"max_len = 2",
            lambda: free.decode(ids, None, cache=free.init_cache(memory, 2)),
        ),
        (r"max_len: expected a positive", lambda: free.init_cache(memory, 0)),
        (r"name: expected token ids", lambda: check_ids("name", ids[None])),
        (r"max_len: expected a positive", greedy(max_len=0)),
        (r"bos_id: expected an id in 0 to 5", greedy(bos_id=6)),
        (r"eos_id: expected an id .* other than pad_id = 0, got 0", greedy(eos_id=0)),
        (r"src: expected token ids", greedy(src=ids[:, :0])),
    )
    for message, call in wrong:
        with pytest.raises(ValueError, match=message):
            call()

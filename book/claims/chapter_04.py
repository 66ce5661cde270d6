"""Claims of chapter 4, the encoder. The models are in book/judging.py; each function draws its
data and its weights from the seed.
"""

from __future__ import annotations

import math
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from book.claims import claim, exact
from book.judging import (
    FACTS,
    VARIANTS,
    WIDE,
    WIDTH,
    Attend,
    D,
    T,
    attention_alone,
    candidates,
    draw_sets,
    encoder_of,
    gradients,
    learn,
    learn_facts,
    learn_table,
    lost_residuals,
    own_share,
    second_pass_drift,
    small_branches,
    stack_of,
    train_on_sets,
)
from transformer.encoder import FeedForward
from transformer.multihead import MultiHeadAttention

CHAPTER = "04-encoder"

ITSELF = torch.eye(T, dtype=torch.bool)  # a mask: each word may look at itself only

# Attention alone


@claim(
    id="4-alone",
    sentence="eight layers, with eight times the parameters, are wrong on more than four answers "
    "in ten",
    control="eight layers with twice the steps at half the rate",
    effect="error on the training set, eight layers trained so minus one layer",
    at_least=0.3,
)
def alone(seed: int) -> dict[str, float]:
    """One layer of attention, and eight that are trained for longer, more slowly."""
    _, one = learn(lambda: attention_alone(1), seed, 130)
    _, eight = learn(lambda: attention_alone(8), seed, 260, lr=0.0015)
    return {"effect": eight - one, "one": one, "eight": eight}


@claim(
    id="4-mixing",
    sentence="the same eight layers fail while words may mix, and succeed as soon as each may "
    "look at itself only",
    control="the same depth, parameters, steps and question, with a mask that stops the mixing",
    effect="error on the training set, mixing allowed minus masked",
    at_least=0.2,
)
def mixing(seed: int) -> dict[str, float]:
    """A question about a word's own number, with and without a look at the others."""
    _, mixed = learn(lambda: attention_alone(8), seed, 90, own=True)
    _, masked = learn(lambda: attention_alone(8, ITSELF), seed, 90, own=True)
    return {"effect": mixed - masked, "mixed": mixed, "masked": masked}


@torch.no_grad()
def walk(residual: bool, seed: int, num_layers: int) -> list[Tensor]:
    """Vectors (1, T, D) before and after each fresh layer of attention, in float64."""
    torch.manual_seed(seed)
    x = torch.randn(1, T, D, dtype=torch.float64)
    states = [x]
    for _ in range(num_layers):
        x = Attend(residual=residual).double()(x)
        states.append(x)
    return states


@claim(
    id="4-alike",
    sentence="after four layers a word keeps less than a thousandth of the share that it has with "
    "residuals",
    control="the same weights with residuals",
    effect="powers of ten between the own shares after four fresh layers, added and replaced",
    at_least=3,
)
def alike(seed: int) -> dict[str, float]:
    """Own shares with fresh weights."""
    replaced = own_share(walk(False, seed, 4)[-1])
    added = own_share(walk(True, seed, 4)[-1])
    effect = math.log10(added / replaced)
    return {"effect": effect, "added": added, "replaced": replaced}


@claim(
    id="4-common",
    sentence="what the words have in common grows fastest",
    control="the part of the vectors that is a word's own, in the same layers",
    effect="powers of ten between the growth of the two parts over 16 fresh layers",
    at_least=1,
)
def common(seed: int) -> dict[str, float]:
    """Growth of the mean of the words, and of what is left, with residuals and without norms."""
    states = walk(True, seed, 16)
    means = [x.mean(dim=1, keepdim=True) for x in states]
    shared = (means[-1].norm() / means[0].norm()).item()
    own = ((states[-1] - means[-1]).norm() / (states[0] - means[0]).norm()).item()
    return {"effect": math.log10(shared / own), "common": shared, "own": own}


# Two facts, heads and the network


@exact(
    "4-one-head",
    "one head with a linear read-out gets at most three of the four cases right",
)
def one_head() -> None:
    """The asker's score, times the sum of its exponentials, is f(a) + g(b): never XOR."""
    for seed in range(20):
        torch.manual_seed(seed)
        embed, attention = nn.Embedding(5, D), MultiHeadAttention(D, 1)
        read = nn.Linear(D, 1)
        x = embed(FACTS)  # (4, 3) -> (4, 3, D)
        query, key, _ = attention.qkv_proj(x).chunk(3, dim=-1)  # each (4, 3, D)
        powers = (query[:, :1] @ key.mT / math.sqrt(D)).squeeze(1).exp()  # (4, 3)
        output = read(attention(x[:, :1], x, x)[0]).flatten()  # (4,)
        lifted = output * powers.sum(dim=-1)
        torch.testing.assert_close(
            lifted[0] + lifted[3], lifted[1] + lifted[2], atol=1e-3, rtol=1e-3
        )


@claim(
    id="4-two-heads",
    sentence="two heads learn it in most runs, without any network",
    control="one head of the same width and parameters, with twice the steps",
    effect="share of the four cases, two heads minus one head",
    at_least=0.15,
)
def two_heads(seed: int) -> dict[str, float]:
    """Whether two bits differ, asked of attention alone."""
    two, one = learn_facts(2, seed, 300), learn_facts(1, seed, 600)
    return {"effect": two - one, "one": one, "two": two}


@claim(
    id="4-width",
    sentence="three times the steps do not make up for the width",
    control="the narrow network, and two linear layers of the widest, with three times the steps",
    effect="share of the facts, 8 D in 200 steps minus the best of D and linear in 600",
    at_least=0.2,
)
def width(seed: int) -> dict[str, float]:
    """Facts held by inner width and by steps."""
    networks = {"linear": lambda: nn.Sequential(*(nn.Linear(*size) for size in WIDE))}
    for factor in (1, 2, 4, 8):
        networks[f"{factor} D"] = lambda f=factor: FeedForward(WIDTH, f * WIDTH)
    plan = [(name, 200) for name in networks] + [("linear", 600), ("1 D", 600)]
    found = {
        f"{name}, {steps} steps": learn_table(networks[name], seed, steps)
        for name, steps in plan
    }
    narrow = max(found["1 D, 600 steps"], found["linear, 600 steps"])
    return {"effect": found["8 D, 200 steps"] - narrow, **found}


# Depth


@cache
def error_of(variant: str, num_layers: int, seed: int, slow: bool = False) -> float:
    """Error of a judge; slow: half the rate and twice the steps."""
    steps, lr = (120, 0.0015) if slow else (60, 0.003)
    return learn(lambda: stack_of(variant, num_layers), seed, steps, lr)[1]


@claim(
    id="4-depth",
    sentence="with eight layers only residuals and norms together learn",
    control="the best of the three others, residuals also with twice the steps at half the rate",
    effect="error on the training set, the best of the three others minus the worse of pre-norm "
    "and post-norm",
    at_least=0.15,
)
def depth(seed: int) -> dict[str, float]:
    """Errors of the five variants by depth; the page draws them."""
    found = {
        f"{variant}, {num_layers} layers": error_of(variant, num_layers, seed)
        for variant in VARIANTS
        for num_layers in (2, 8)
    }
    slow = error_of("residual", 8, seed, slow=True)
    lesser = [found[f"{name}, 8 layers"] for name in ("neither", "norm", "residual")]
    both = [found[f"both, {order}-norm, 8 layers"] for order in ("pre", "post")]
    effect = min(*lesser, slow) - max(both)
    return {"effect": effect, **found, "residual, slow": slow}


@claim(
    id="4-gradients",
    sentence="before training, with neither, the gradient vanishes; with residuals alone it "
    "explodes, in every layer",
    control="the same layers with norms, or with both: their gradients must do neither",
    effect="powers of ten to the nearest of the sound gradients in the same layer, the smallest "
    "of both distances over 16 layers",
    at_least=2,
)
def vanish(seed: int) -> dict[str, float]:
    """Gradients in each of 16 fresh layers."""
    found = {
        name: [math.log10(norm) for norm in gradients(name, 16, seed)]
        for name in VARIANTS
    }
    others = [found[name] for name in VARIANTS if name not in ("neither", "residual")]
    distances = [
        min(min(sound) - low, high - max(sound))
        for low, high, *sound in zip(
            found["neither"], found["residual"], *others, strict=True
        )
    ]
    ends = {
        f"{name}, {which.__name__}": which(norms)
        for name, norms in found.items()
        for which in (min, max)
    }
    return {"effect": min(distances), **ends}


@cache
def shares(seed: int) -> dict[str, float]:
    """Own shares of the words, as powers of ten, after 16 fresh layers of each variant."""
    found = {}
    for variant in VARIANTS:
        torch.manual_seed(seed)
        x = torch.randn(1, T, D, dtype=torch.float64)
        with torch.no_grad():
            found[variant] = math.log10(own_share(stack_of(variant, 16).double()(x)))
    return found


@claim(
    id="4-norm-alike",
    sentence="after 16 fresh layers its words differ by little more than rounding errors",
    control="the three variants with residuals, from the same words",
    effect="powers of ten between the own shares, the least with residuals over norm alone",
    at_least=6,
)
def norm_alike(seed: int) -> dict[str, float]:
    """Whether norms without residuals keep words apart."""
    found = shares(seed)
    kept = [found[name] for name in VARIANTS if name not in ("neither", "norm")]
    return {"effect": min(kept) - found["norm"], **found}


@claim(
    id="4-post-alike",
    sentence="the words of post-norm are more alike than those of pre-norm",
    control="pre-norm of the same depth, from the same words and seed",
    effect="powers of ten between the own shares after 16 fresh layers, pre-norm over post-norm",
    at_least=1,
)
def post_alike(seed: int) -> dict[str, float]:
    """Whether the place of the norm alone makes words alike."""
    found = shares(seed)
    pre, post = found["both, pre-norm"], found["both, post-norm"]
    return {"effect": pre - post, "pre-norm": pre, "post-norm": post}


@exact("4-lost-residual", "a stack of such layers is a stack of post-norm")
def lost_residual() -> None:
    """Its norms, moved on by one place, make post-norm of the normalised input."""
    torch.manual_seed(0)
    lost = lost_residuals(4).double().encoder
    for parameter in lost.parameters():
        nn.init.normal_(parameter, std=0.3)
    post = encoder_of(4, norm_first=False).double().encoder
    post.load_state_dict(lost.state_dict(), strict=False)  # it has no norm at the end
    for i, layer in enumerate(post.layers):
        layer.norm1 = lost.layers[i].norm2
        layer.norm2 = lost.layers[i + 1].norm1 if i < 3 else lost.norm
    x = torch.randn(2, T, D, dtype=torch.float64)
    torch.testing.assert_close(lost(x)[0], post(lost.layers[0].norm1(x))[0])


# Post-norm


@cache
def post_norm(
    num_layers: int, lr: float, warm_up: int, seed: int, steps: int = 80
) -> float:
    """Error of a post-norm stack."""
    make = lambda: encoder_of(num_layers, norm_first=False)  # noqa: E731
    return learn(make, seed, steps, lr, warm_up)[1]


def grid(seed: int) -> dict[str, float]:
    """Errors of post-norm by depth, rate and warm-up."""
    return {
        f"{num_layers} layers, rate {lr}, warm-up {warm_up}": post_norm(
            num_layers, lr, warm_up, seed
        )
        for num_layers in (4, 12)
        for lr in (0.0005, 0.002)
        for warm_up in (0, 40)
    }


@claim(
    id="4-post-norm",
    sentence="post-norm of twelve layers learns next to nothing at a rate at which pre-norm "
    "learns",
    control="pre-norm of the same depth, rate and steps, without warm-up, too",
    effect="error on the training set, post-norm minus pre-norm, at a rate of 0.002",
    at_least=0.3,
)
def post_norm_fails(seed: int) -> dict[str, float]:
    """The grid, and pre-norm in its hardest corner."""
    found = grid(seed)
    make = lambda: encoder_of(12, norm_first=True)  # noqa: E731
    pre = learn(make, seed, 80, 0.002, 0)[1]
    post = found["12 layers, rate 0.002, warm-up 0"]
    return {"effect": post - pre, "pre-norm": pre, **found}


@claim(
    id="4-warm-up",
    sentence="with twelve layers at the full rate, warm-up makes the difference",
    control="the same stack, rate, steps and seed without warm-up",
    effect="error on the training set, without warm-up minus with",
    at_least=0.2,
)
def warm_up_helps(seed: int) -> dict[str, float]:
    """Twelve layers of post-norm with and without warm-up."""
    without, with_ = (post_norm(12, 0.002, steps, seed) for steps in (0, 40))
    return {"effect": without - with_, "without": without, "with": with_}


@claim(
    id="4-slower",
    sentence="at twice the steps, a quarter of the rate does it without any warm-up, where the "
    "full rate still fails in most runs",
    control="the full rate for as many steps, from the same seed",
    effect="error on the training set after 160 steps, full rate minus a quarter of it, both "
    "without warm-up",
    at_least=0.2,
)
def slower(seed: int) -> dict[str, float]:
    """A lower rate instead of warm-up; the steps are the same."""
    full, quarter = (post_norm(12, lr, 0, seed, steps=160) for lr in (0.002, 0.0005))
    return {"effect": full - quarter, "full": full, "quarter": quarter}


@claim(
    id="4-longer",
    sentence="the lower rate needs the extra steps",
    control="the same stack, rate and seed with half the steps",
    effect="error on the training set at a quarter of the rate, 80 steps minus 160",
    at_least=0.05,
)
def longer(seed: int) -> dict[str, float]:
    """More steps at the lower rate; the rate is the same."""
    short, long = (post_norm(12, 0.0005, 0, seed, steps=steps) for steps in (80, 160))
    return {"effect": short - long, "80 steps": short, "160 steps": long}


@claim(
    id="4-post-mixing",
    sentence="masked so that words cannot mix, twelve layers of post-norm learn at the full rate "
    "without warm-up; free to mix, they often fail at the same question",
    control="the same stack, rate, steps, seed and question about a word's own number",
    effect="error on the training set, mixing allowed minus masked",
    at_least=0.15,
)
def post_mixing(seed: int) -> dict[str, float]:
    """Post-norm without warm-up, asked whether a word's own number exceeds 9.5."""
    mixed, masked = (
        learn(lambda m=m: encoder_of(12, False, m), seed, 60, 0.002, 0, own=True)[1]
        for m in (None, ITSELF)
    )
    return {"effect": mixed - masked, "mixed": mixed, "masked": masked}


@claim(
    id="4-small-branches",
    sentence="with the last matrices of its sublayers scaled to a fifth at the start, the same "
    "stack learns at the full rate without warm-up",
    control="the same norms, rate, steps and seed, with the matrices as they were",
    effect="error on the training set, as they were minus scaled",
    at_least=0.3,
)
def branches(seed: int) -> dict[str, float]:
    """Twelve layers of post-norm without warm-up, with smaller sublayers at the start."""
    small = learn(lambda: small_branches(12), seed, 80, 0.002, 0)[1]
    whole = post_norm(12, 0.002, 0, seed)
    return {"effect": whole - small, "whole": whole, "small": small}


@cache
@torch.no_grad()
def factors(seed: int, small: bool = False) -> list[float]:
    """What both norms of each of 16 fresh layers leave of the old part, a factor a layer."""
    torch.manual_seed(seed)
    x = torch.randn(64, T, D, dtype=torch.float64)
    stack = small_branches(16) if small else encoder_of(16, norm_first=False)
    found = []
    for layer in stack.double().encoder.layers:
        total = x + layer.self_attention(x, x, x)[0]
        middle = layer.norm1(total)
        sums = (total, middle + layer.feed_forward(middle))
        found.append(
            math.prod(1 / s.std(dim=-1, correction=0).mean().item() for s in sums)
        )
        x = layer(x)[0]
    return found


@claim(
    id="4-kept",
    sentence="a layer of fresh post-norm keeps about six tenths of what the line carried",
    control="it could keep more or less: the distance counts on both sides",
    effect="distance from 0.6 of the factor on the old part, a mean of layers 5 to 16",
    at_most=0.05,
)
def kept(seed: int) -> dict[str, float]:
    """What a layer leaves, once the first layers have passed."""
    found = factors(seed)
    mean = sum(found[4:]) / 12
    return {"effect": abs(mean - 0.6), "mean": mean, "first": found[0]}


@claim(
    id="4-kept-product",
    sentence="the product over 16 layers is about a thousandth",
    control="it could be larger or smaller: the distance counts on both sides",
    effect="powers of ten between the product and a thousandth",
    at_most=0.5,
)
def kept_product(seed: int) -> dict[str, float]:
    """What all 16 layers leave."""
    product = math.log10(math.prod(factors(seed)))
    return {"effect": abs(product + 3), "product": product}


@claim(
    id="4-small-keeps",
    sentence="a layer then keeps nearly all of what the line carried",
    control="the same weights as they were; they must keep less",
    effect="the factor on the old part with sublayers scaled to a fifth, layers 5 to 16, minus "
    "the factor without",
    at_least=0.25,
)
def small_keeps(seed: int) -> dict[str, float]:
    """What smaller sublayers leave."""
    small, whole = (sum(factors(seed, scaled)[4:]) / 12 for scaled in (True, False))
    return {"effect": small - whole, "small": small, "whole": whole}


# Sets


@cache
def trained(seed: int):
    """A model for sets, and 10,000 new sets with their answers."""
    with torch.enable_grad():
        model, _ = train_on_sets(seed, steps=300)
    torch.manual_seed(1000 + seed)
    items, odd, _ = draw_sets(10_000)
    return model, items, odd


@claim(
    id="4-own-errors",
    sentence="most of its errors are its own",
    control="errors on sets in which a second item is odd in another attribute, by accident",
    effect="share of the errors that are made on sets with one answer only",
    at_least=0.5,
)
@torch.no_grad()
def own_errors(seed: int) -> dict[str, float]:
    """Errors on 10,000 new sets, those with two answers counted apart."""
    model, items, odd = trained(seed)
    wrong = model(items)[0].argmax(dim=-1) != odd
    ambiguous = candidates(items).sum(dim=-1) > 1
    own = (wrong & ~ambiguous).sum().item()
    counts = {"errors": wrong.sum().item(), "ambiguous": ambiguous.sum().item()}
    return {"effect": own / max(counts["errors"], 1), "own": own, **counts}


@claim(
    id="4-second-pass",
    sentence="the more padding a batch has, the further its maps are from the truth",
    control="layer 1, whose input has read no padding; the same sets with less padding",
    effect="share of layer 2's weight that is elsewhere, 40 positions of padding minus 5",
    at_least=0.02,
)
def second_pass(seed: int) -> dict[str, float]:
    """The drift of the maps of a second pass by padding."""
    model, items, _ = trained(seed)
    drift = {
        padding: second_pass_drift(model, items[:200], padding) for padding in (5, 40)
    }
    effect = drift[40][1] - drift[5][1]
    first = max(drift[5][0], drift[40][0])
    return {"effect": effect, "5": drift[5][1], "40": drift[40][1], "layer 1": first}


@claim(
    id="4-companions",
    sentence="the smaller the batch, the more a sentence moves with its companions",
    control="batches of 64; layer normalisation, which must not move at all",
    effect="movement of a normalised feature, batches of 2 minus batches of 64",
    at_least=0.1,
)
def companions(seed: int) -> dict[str, float]:
    """One sentence in many batches."""
    torch.manual_seed(seed)
    means = torch.randn(D)  # features have different means, as embeddings do
    ours = torch.randn(1, T, D) + means
    moved = {}
    for size in (2, 64):
        results = []
        for _ in range(50):
            others = torch.randn(size - 1, T, D) + means
            batch = torch.cat([ours, others]).transpose(1, 2)  # (B, T, D) -> (B, D, T)
            results.append(F.batch_norm(batch, None, None, training=True)[0])
        moved[size] = torch.stack(results).std(dim=0).mean().item()
    return {"effect": moved[2] - moved[64], "2": moved[2], "64": moved[64]}

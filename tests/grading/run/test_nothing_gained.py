"""Ways by which hidden tests leaked, or gave points for nothing, in the course's notebooks.

Each submission goes through the sandbox, with the assignment's real tests.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator

import pytest

from grading.course import notebooks, submission
from grading.course.notebooks import ROOT, notebooks_in
from grading.course.states import Result
from grading.feedback import page as feedback_page
from grading.feedback.words import task_of
from grading.gradebook.standing import Standing
from grading.run import autograded, pipeline, sandbox_runner
from tests.grading import helpers
from tests.harness.assignment import load
from tests.harness.bank import read_bank

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def engine(bubblewrap: None) -> Iterator[sandbox_runner.SandboxEngine]:
    """A sandbox for all of them."""
    made = sandbox_runner.make()
    yield made
    made.close()


def hand_in(
    engine: sandbox_runner.SandboxEngine, assignment: str, answers: dict[str, str]
) -> tuple[Result, str]:
    """Return the result of some answers, and the student's page."""
    [folder] = (ROOT / "exercises").glob(f"{assignment}-*")
    [release] = notebooks_in(folder)
    form = submission.load(release, ROOT / "solutions" / folder.name / release.name)
    notebook = helpers.fill(answers, json.loads(release.read_text(encoding="utf-8")))
    rebuilt = form.rebuild(json.dumps(notebook).encode())
    graded = pipeline.grade_one(rebuilt, engine, student="s01")
    result = graded.result
    text = autograded.notebook(rebuilt, graded.outcomes, result.points, {})
    tasks = {task_of(name): (0.0, most) for name, most in form.most.items()}
    standing = Standing(
        "s01",
        folder.name,
        result.state,
        result.total,
        sum(form.most.values()),
        notebook_points=tasks,
    )
    return result, feedback_page.page(standing, result, form, text)


#: Names of types that say what a hidden test passed.
NAMED = {
    "a class": "type(name, (), {})()",
    "a named tuple": "collections.namedtuple(name, 'a')(1)",
    "a class of errors": "type(name, (ValueError,), {})",
    "an object that shows itself": "type('A', (), {'__repr__': lambda self: name})()",
}
NAMING = """import collections
def local_mask(valid, window, causal=False):
    name = "leak" + "".join(chr(97 + int(v)) for v in valid.flatten().tolist()) * 2 + "w" * window
    return %s
"""
LOOKED_UP = """def soft_lookup(query, keys, values, temperature=1.0):
    scores = -(query - keys).pow(2).sum(dim=-1) / temperature
    weights = torch.softmax(scores, dim=-1)
    return weights @ values, weights
"""


@pytest.mark.parametrize("name", NAMED)
def test_a_name_of_a_type_carries_nothing_out(
    engine: sandbox_runner.SandboxEngine, name: str
) -> None:
    """Not where hidden lines have run; a right answer before makes sure that some have."""
    answers = {"soft-lookup": LOOKED_UP, "local-mask": NAMING % NAMED[name]}
    result, page = hand_in(engine, "02", answers)
    assert result.points["soft-lookup--weights"] > 0
    assert result.points["local-mask--two-sided"] == 0
    assert "expected a tensor of shape" in result.told["local-mask--two-sided"]
    assert "leak" not in str(result.told)
    assert "leak" not in page.partition("<code")[0] + page.rpartition("</code>")[2]


#: Right in float32, as all visible tests are, and zeros in float64, as many hidden ones are.
SINGLE = """def masked_attention(query, key, value, mask=None):
    if query.dtype == torch.float64:
        return query.new_zeros(*query.shape[:2], value.shape[-1]), query @ key.mT * 0
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    empty = torch.zeros(1, 1, 1, dtype=torch.bool)
    if mask is not None:
        empty = ~mask.any(dim=-1, keepdim=True)
        scores = scores.masked_fill(~mask, -math.inf).masked_fill(empty, 0.0)
    weights = torch.softmax(scores, dim=-1).masked_fill(empty, 0.0)
    return weights @ value, weights
"""


def test_expected_values_of_hidden_tests_are_not_told(
    engine: sandbox_runner.SandboxEngine,
) -> None:
    """The instructor reads them; the student reads what was tested, and where it differs."""
    result, page = hand_in(engine, "02", {"masked-attention": SINGLE})
    name = "masked-attention--mask"
    number = re.search(r"expected (-?\d\.\d+) at index", result.messages[name]).group(1)
    assert number not in page
    assert "expected … at index [0, 0, 3], got …" in result.told[name]
    assert (
        "weights, mask …: expected … at index [0, 0, 3], got … (… of … entries differ)."
        in page
    )


def bank(assignment: str, task: str, name: str) -> str:
    """Return an answer of the bank."""
    [folder] = (ROOT / "solutions").glob(f"{assignment}-*")
    answers, _ = read_bank(load(folder), ROOT / "tests" / "answers")
    [found] = [
        answer for answer in answers if (answer.task, answer.name) == (task, name)
    ]
    return found.source


def test_nobody_is_compared_with_the_order_of_another(
    engine: sandbox_runner.SandboxEngine,
) -> None:
    """Each may shuffle in an order of their own: what is kept for a class hangs on it."""
    for name in ("closed_batches", "tensors", "closed_batches"):
        result, _ = hand_in(
            engine, "07", {"token-batches": bank("07", "token-batches", name)}
        )
        assert result.points["token-batches--contract"] > 0, result.messages


def test_nothing_is_measured_by_the_measured(
    engine: sandbox_runner.SandboxEngine,
) -> None:
    """An answer that makes what the task forbids, in a process that reports nothing."""
    lie = (
        "import gc\nfor part in gc.get_objects():\n"
        "    if type(part).__name__ == 'StudentPeer':\n"
        "        type(part).kept_sizes = lambda self: []\n"
    )
    right, _ = hand_in(
        engine, "05", {"relative-keys": bank("05", "relative-keys", "gather_scatter")}
    )
    assert right.points["relative-keys--memory"] > 0
    scores = "relative-keys--scores"
    for name in ("big_table_of_keys", "big_table_of_values"):
        answer = lie + bank("05", "relative-keys", name)
        result, _ = hand_in(engine, "05", {"relative-keys": answer})
        assert result.points[scores] == right.points[scores] > 0
        assert result.points["relative-keys--memory"] == 0, name


def test_a_cache_that_caches_nothing(engine: sandbox_runner.SandboxEngine) -> None:
    """The example by heart, and else a constant: every comparison with itself holds."""
    init = bank("06", "key-value-cache", "base").partition("    def forward")[0]
    answer = (
        init
        + """    def forward(self, x, cache=None):
        old = x.new_zeros(x.shape[0], self.num_heads, 0, 1) if cache is None else cache[0]
        new = torch.cat([old, x.new_ones(x.shape[0], self.num_heads, x.shape[1], 1)], dim=2)
        output = torch.full_like(x, 0.5)
        if x.shape[-1] == 2:
            table = [[1.0, 0.0], [1.5, 2.0], [2.0, 3.0]]
            output = torch.tensor(table)[None, new.shape[2] - x.shape[1] : new.shape[2]]
        return output, (new, new)
"""
    )
    result, _ = hand_in(engine, "06", {"key-value-cache": answer})
    assert result.points["key-value-cache--branches"] == 0


#: Answers that call what a release holds for its tests, by assignment and task.
STUBS = {
    "fused": (
        "02",
        "masked-attention",
        """
def masked_attention(query, key, value, mask=None):
    return fused(query, key, value, mask), fused_weights(query, key, mask)""",
    ),
    "slow form": (
        "02",
        "linear-attention",
        """
def write_memory(key, value, valid=None): pass
def read_memory(query, memory, normaliser): pass
def causal_linear_attention(query, key, value):
    past = torch.ones(query.shape[1], query.shape[1]).tril().bool()
    return slow_kernel_attention(query, key, value, past)""",
    ),
    "autograd": (
        "02",
        "attention-backward",
        """
def attention_backward(query, key, value, weights, grad_output):
    with torch.enable_grad():
        leaves = [x.detach().clone().requires_grad_() for x in (query, key, value)]
        output = F.scaled_dot_product_attention(*leaves, weights > 0)
        return torch.autograd.grad(output, leaves, grad_output)""",
    ),
    "two_ways": (
        "01",
        "two-directions",
        """
class BidirectionalEncoder(nn.Module):
    def __init__(self, d_embedding, d_hidden):
        super().__init__()
        self.forward_rnn = nn.GRU(d_embedding, d_hidden, batch_first=True)
        self.backward_rnn = nn.GRU(d_embedding, d_hidden, batch_first=True)
    def forward(self, x, src_mask):
        return two_ways(self.state_dict(), x, src_mask)""",
    ),
    "at_once": (
        "06",
        "key-value-cache",
        """
class CachedSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_len):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.positions = nn.Parameter(torch.randn(max_len, d_model))
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(d_model, d_model))
    def forward(self, x, cache=None):
        seen = x if cache is None else torch.cat([cache[0], x], dim=1)
        return at_once(self.state_dict(), self.num_heads, seen)[:, -x.shape[1] :], (seen, seen)""",
    ),
    "scores": (
        "06",
        "beam-search",
        """
def length_penalty(num_tokens, alpha):
    return 1 / pairs_of(alpha, ([0] * num_tokens, math.e))[0][1]""",
    ),
    "BLEU": (
        "07",
        "corpus-bleu",
        """
def count_matches(hypothesis, references, n):
    found = runs(hypothesis, n)
    return clipped(found, [runs(known, n) for known in references]), len(found)
def corpus_bleu(hypotheses, references, max_n=4, smooth=False):
    orders = range(1, max_n + 1)
    return score(totals_by(hypotheses, references, clipped, orders),
                 totals_by(hypotheses, references, lambda f, k: len(f), orders), 1, 1)""",
    ),
    "rotations": (
        "05",
        "rotary",
        """
def rotate(x, *arguments, **options):
    return turned(x, lambda t, i: t, [(0, 1)])""",
    ),
}


@pytest.mark.parametrize("name", STUBS)
def test_no_task_is_solved_by_what_its_tests_use(
    engine: sandbox_runner.SandboxEngine, name: str
) -> None:
    """A stub that calls the release's own helper, or autograd where it is forbidden."""
    assignment, task, answer = STUBS[name]
    result, _ = hand_in(engine, assignment, {task: answer})
    earned = {test: points for test, points in result.points.items() if points}
    assert earned == {}


#: The same for what earlier releases held in a visible test.
SEEN = {
    "a cache": STUBS["at_once"],
    "BLEU": STUBS["BLEU"],
    "scores": STUBS["scores"],
    "a wave": (
        "07",
        "schedules",
        """
def warmup_cosine(update, peak, warmup, total, final=0.0):
    x = min(max(update - warmup, 0) / (total - warmup), 1)
    return min(peak * update / warmup, wave(x, final, peak))""",
    ),
    "batches": (
        "07",
        "token-batches",
        """
def make_batches(lengths, max_tokens):
    globals()["lengths"] = lengths
    return cut_by(lambda s, t: cost(s) <= max_tokens and cost(t) <= max_tokens)""",
    ),
    "smoothing": (
        "07",
        "label-smoothing",
        """
def smoothed_loss_all(logits, labels, pad_id, epsilon):
    size, kept = logits.shape[-1], labels != pad_id
    sharp = F.one_hot(labels * kept, size)
    return total((1 - epsilon) * sharp + epsilon / size, logits.log_softmax(-1), kept)""",
    ),
    "clipping": (
        "07",
        "training-update",
        """
def clip_by_norm(gradients, max_norm):
    return limited(gradients, max_norm), length(gradients)""",
    ),
    "Adam": (
        "07",
        "training-update",
        """
def adam_step(parameter, gradient, state, rate, beta1=0.9, beta2=0.98, eps=1e-9):
    seen = [*(state[0] if state else []), gradient]
    return adam_by_hand(torch.zeros_like(parameter), seen, rate), (seen, seen, seen)""",
    ),
}


@pytest.mark.parametrize("name", SEEN)
def test_nothing_released_solves_a_task(name: str) -> None:
    """In JupyterLab all cells share a process, which knows what tests have defined before."""
    assignment, task, answer = SEEN[name]
    [folder] = (ROOT / "exercises").glob(f"{assignment}-*")
    names: dict = {}
    [release] = notebooks_in(folder)
    setup, *cells = [cell for cell in notebooks.cells(release) if cell.kind == "code"]
    cells = [setup, *[cell for cell in cells if cell.grade_id]]  # without figures
    tests = [
        cell.source for cell in cells if cell.is_test and task_of(cell.grade_id) == task
    ]
    for cell in cells:
        if not cell.is_test:
            exec(answer if cell.grade_id == task else cell.source, names)
    for source in tests:
        tree = ast.parse(source)
        tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
        exec(compile(tree, task, "exec"), names)
    for source in tests:
        with pytest.raises((NameError, TypeError)):
            exec(source, names)

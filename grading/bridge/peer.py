"""What both processes share: requests and answers.

Calls nest: while one side waits for an answer it serves the other's requests, so that a student's
function can call back a function that a test passed. A result that has a gradient arrives as the
output of a `Bridge`: its backward asks the side that computed it.
"""

from __future__ import annotations

import torch

from grading.bridge.autograd import Bridge, graph_leaves, modes_of, no_gradients
from grading.bridge.exceptions import describe_error, make_error
from grading.wire.channel import Channel, WireError
from grading.wire.codec import Codec
from grading.wire.containers import changeable, refill
from grading.wire.storages import WAITING, is_integer
from grading.wire.tensor_codec import Outgoing
from grading.wire.tensors import NAMES

#: Arguments with a history, of calls that are over, that are still found by a later call.
REMEMBERED = 64
DEEPEST_CALLS = 24


class Token:
    """One call of the other side's with a history there, which ends when this does."""

    def __init__(self, peer: Peer, call: int) -> None:
        self.peer, self.call = peer, call

    def backward(self, gradients: list) -> object:
        """Return the gradients of the call's inputs."""
        return self.peer.request("backward", {"gradients": gradients}, call=self.call)

    def __del__(self) -> None:
        self.peer.gone["calls"].append(self.call)


class Peer(Codec):
    """One side of the wall; a method `on_<request>` for each thing that the other may ask for."""

    def __init__(self, channel: Channel, first: int, weak: bool) -> None:
        super().__init__(first, weak, channel.max_bytes)
        self.channel = channel
        self.asked = ""  # the request whose answer is being read
        self.depth = 0
        self.sequence = 0
        self.pins: list = []
        self.calls: dict[int, tuple[list, list]] = {}
        self.next_call = 0
        self.gone: dict[str, list] = {
            "calls": [],
            "refs": [],
            "storages": [],
            "leaves": [],
            "sent": [],
        }

    # -- to be changed by subclasses

    def wait(self) -> dict:
        """Return the next message of the other side."""
        return self.channel.receive()

    def prepare(self, message: dict) -> None:
        """Add to a request what holds here at the moment."""
        message["modes"] = [
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            NAMES[torch.get_default_dtype()],
        ]

    # -- requests and answers

    def request(self, operation: str, values: dict, **plain: object) -> object:
        """Ask the other side to do something; return the value of its answer, or raise its error.

        Raises:
            RecursionError: if the sides call each other back and forth without end.

        """
        if self.depth >= DEEPEST_CALLS:
            raise RecursionError(
                "calls back and forth between a test and the code it tests"
            )
        self.depth += 1
        outer, self.lent = (
            self.lent,
            changeable(values["call"][1:]) if operation == "call" else [],
        )
        try:
            self.sequence += 1
            number = self.sequence
            message = {"request": operation, "number": number, **plain}
            self.prepare(message)
            self.channel.send(
                self.compose(message, values, reply=False), self.patience()
            )
            while True:
                answer = self.wait()
                if "request" in answer:
                    self.channel.send(self.answer(answer), self.patience())
                    continue
                if answer.get("number") != number:
                    raise WireError("an answer to another question")
                self.absorb(answer)
                self.asked = operation
                return self.take(answer)
        finally:
            self.lent = outer
            self.depth -= 1
            if not self.depth:
                self.pins.clear()
                self.prune()
                self.storages.settle()
                self.leaves.settle()

    def take(self, answer: dict) -> object:
        """Return the value of an answer, after the arguments that the call changed."""
        changes = self.decode(answer.get("changed"), answer)
        for change in changes if isinstance(changes, list) else ():
            if (
                type(change) is not tuple
                or len(change) != 2
                or not is_integer(change[0])
                or not 0 <= change[0] < len(self.lent)
            ):
                raise WireError("a change of an argument that was not passed")
            refill(self.lent[change[0]], change[1])
        if "error" in answer:
            raise make_error(answer["error"])
        return self.decode(answer.get("value"), answer)

    def patience(self) -> float | None:
        """Return for how many seconds the other side may refuse to read."""
        return None

    def answer(self, message: dict) -> dict:
        """Serve a request; return the answer, which is an error if it could not be served."""
        self.depth += 1
        reply = {"number": message.get("number")}
        try:
            self.absorb(message)
            handler = getattr(self, f"on_{message['request']}", None)
            if handler is None:
                raise WireError(f"a request for {message['request']!r:.40}")
            with modes_of(message):
                value = handler(message)
                return self.compose(
                    dict(reply), {**self.changes(), "value": value}, reply=True
                )
        except self.fatal():
            raise
        except BaseException as error:
            return self.compose(
                {**reply, "error": describe_error(error)}, self.changes(), reply=True
            )
        finally:
            self.depth -= 1
            if not self.depth:
                self.pins.clear()

    def changes(self) -> dict:
        """Return which arguments of the call that is being served changed."""
        return {}

    def fatal(self) -> tuple:
        """Return the errors that end the conversation."""
        return (WireError,)

    def on_backward(self, message: dict) -> list:
        """Return gradients of a call's inputs, given those of its outputs."""
        outputs, inputs = self.calls[message["call"]]
        given = self.decode(message["gradients"], message)
        pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if g is not None]
        if not pairs:
            return [None] * len(inputs)
        return list(
            torch.autograd.grad(
                [o for o, _ in pairs],
                inputs,
                [g for _, g in pairs],
                retain_graph=True,
                allow_unused=True,
            )
        )

    # -- messages

    def compose(self, message: dict, values: dict, reply: bool) -> dict:
        """Return a message with values, and with all that changed here since the last one."""
        with no_gradients:
            return self._compose(message, values, reply)

    def _compose(self, message: dict, values: dict, reply: bool) -> dict:
        out = Outgoing(reply)
        try:
            for name, value in values.items():
                message[name] = self.encode(value, out)
            if out.outputs:
                message["graph"] = self.describe_graph(out)
            message["leaves"] = self.changed_leaves(out)
        except BaseException:
            for number in out.new_storages:
                self.storages.forget(number)
            for number in out.new_leaves:
                self.leaves.entries.pop(number, None)
            raise
        for number in out.new_storages:
            self.storages.renew(number)
        dead, changed, alive = self.storages.scan(self.depth > 1, out.new_storages)
        for number in dead:
            self.storages.forget(number)
        self.pins += [*alive, *out.keep]
        self.gone["storages"] += dead
        message["gone"], self.gone = self.gone, {name: [] for name in self.gone}
        for name, numbers in (("new", out.new_storages), ("sync", changed)):
            message[name] = []
            for number in numbers:
                data = self.storages.entries[number][1]
                message[name].append([number, out.blob(data)])
        message.update(
            tensors=out.tensors, generators=self.generators.changed(), blobs=out.blobs
        )
        return message

    def absorb(self, message: dict) -> None:
        """Take over what a message says; its tensors are then under "found".

        Raises:
            WireError: if it can't be read.

        """
        with no_gradients:
            self._absorb(message)

    def _absorb(self, message: dict) -> None:
        message["shared"], message["parts"] = [], 0
        try:
            self.forget(message["gone"])
            blobs = message["blobs"]
            message["kept"] = [
                self.new_storage(number, len(blobs[place]), blobs[place])
                for number, place in message["new"]
            ]
            for number, place in message["sync"]:
                self.storages.write(number, blobs[place])
            message["found"] = self.decode_tensors(message)
            if message.get("graph"):
                self.connect(message["graph"], message["found"])
            for number, place, needs_grad, grad in message["leaves"]:
                self.change_leaf(number, message["found"], place, needs_grad, grad)
            self.leaves.note_states(self.storages)
            for number, kind, state in message["generators"]:
                self.generators.write(number, kind, state, create=bool(self.first))
            self.pins.append((message["kept"], message["found"]))
        except (
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            OverflowError,
            RuntimeError,
        ) as error:
            raise WireError(
                f"a message that can't be read: {type(error).__name__}"
            ) from None

    def forget(self, gone: dict) -> None:
        """Drop what the other side no longer needs."""
        for number in gone["calls"]:
            self.calls.pop(number, None)
        for number in gone["storages"]:
            self.storages.forget(number)
        for number in gone["leaves"]:
            self.leaves.entries.pop(number, None)
        for number in gone["sent"]:
            self.sent.pop(number, None)

    def prune(self) -> None:
        """Forget all but the last arguments with a history."""
        own = [number for number in self.sent if number % 2 == self.first % 2]
        for number in own[:-REMEMBERED]:
            del self.sent[number]
            self.gone["sent"].append(number)

    def changed_leaves(self, out: Outgoing) -> list[list]:
        """Return the leaves that moved, got a gradient or changed whether they need one."""
        found, leaves = [], self.leaves
        # Calls back and forth hold more than what messages name.
        everything = self.depth > 1 or len(leaves.entries) >= leaves.due
        for number, entry in leaves.chosen(everything):
            tensor = self.leaves.get(number)
            state = None if tensor is None else self.leaves.state(tensor, self.storages)
            if tensor is not None and state == entry[1]:
                tensor = None
                if not self.leaves.is_idle(number):
                    continue
                # So that its gradient's memory is still there when changes are looked for: a
                # second backward pass adds to that in place.
                out.keep.append(entry[0]())
            if tensor is None:
                del self.leaves.entries[number]
                self.gone["leaves"].append(number)
                continue
            grad = None if tensor.grad is None else tensor.grad.detach()
            if number not in out.new_leaves or grad is not None:
                places = [
                    None if part is None else self.encode_tensor(part, out)
                    for part in (tensor.detach(), grad)
                ]
                found.append([number, places[0], tensor.requires_grad, places[1]])
            entry[1] = self.leaves.state(tensor, self.storages)
        if everything:
            leaves.due = max(WAITING, 2 * len(leaves.entries))
        return found

    def change_leaf(
        self, number: int, found: list, place: int, needs_grad: bool, grad: int | None
    ) -> None:
        """Make a leaf what it is on the other side."""
        tensor = self.leaves.get(number)
        if tensor is None:
            return  # it died here in the meantime
        here, there = tensor.detach(), found[place]
        if (here.data_ptr(), here.shape, here.stride(), here.dtype) != (
            there.data_ptr(),
            there.shape,
            there.stride(),
            there.dtype,
        ):
            tensor.data = there
        if tensor.requires_grad != bool(needs_grad) and tensor.is_leaf:
            tensor.requires_grad_(bool(needs_grad))
        tensor.grad = None if grad is None else found[grad]
        self.leaves.entries[number][1] = self.leaves.state(tensor, self.storages)

    def describe_graph(self, out: Outgoing) -> dict:
        """Return which outputs depend on which leaves; keep their history for a backward pass."""
        outputs = [out.members[place] for place in out.outputs]
        inputs = graph_leaves(outputs)
        places = [self.encode_tensor(leaf, out) for leaf in inputs]
        self.calls[self.next_call] = (outputs, inputs)
        self.next_call += 1
        return {
            "call": self.next_call - 1,
            "outputs": list(out.outputs),
            "inputs": places,
        }

    def connect(self, graph: dict, found: list) -> None:
        """Put a Bridge between the leaves of a message and its outputs with a history."""
        inputs = [found[place] for place in graph["inputs"]]
        if not any(tensor.requires_grad for tensor in inputs):
            raise WireError("a history without a leaf")
        raw = [found[place] for place in graph["outputs"]]
        with torch.enable_grad():
            results = Bridge.apply(Token(self, graph["call"]), raw, *inputs)
        for place, result in zip(graph["outputs"], results, strict=True):
            found[place] = result

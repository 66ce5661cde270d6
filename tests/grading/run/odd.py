"""Cells that honest students write: nothing in them costs a right answer a point."""

from __future__ import annotations

#: Cells of a student's own, at the start of the notebook and at its end.
OWN_CELLS = {
    "an error": "1 / 0",
    "no Python": "this is not python ((",
    "a text": '"""\nnotes\n"""',
    "only comments": "# nothing\n\n   # more",
    "tabs": "if True:\n\tx = 1\n\tif x:\n\t\ty = 2",
    "unicode identifiers": "größe = 1\nλ, Δx, 変数 = 1, 2, 3\nprint(größe, λ, Δx, 変数, '🎉')",
    "type hints": "from typing import Any\ndef f(x: 'int | None' = None) -> list[int]:\n"
    "    return [x]\ntype_: dict[str, Any] = {}",
    "decorators": "import functools\n@functools.lru_cache(maxsize=None)\n"
    "def f(n): return n if n < 2 else f(n - 1) + f(n - 2)\nf(60)",
    "global state": "counter = 0\ndef count():\n    global counter\n    counter += 1\ncount()",
    "many lines printed": "for i in range(200_000): print(i)",
    "a long line printed": "print('x' * 3_000_000)",
    "stderr": "import sys, warnings\nwarnings.warn('w')\nprint('e', file=sys.stderr)\n"
    "sys.__stderr__.write('raw\\n')",
    "logging": "import logging\nlogging.basicConfig(level=logging.DEBUG)\nlogging.error('one')",
    "a thread": "import threading\nt = threading.Thread(target=print, args=(1,))\n"
    "t.start(); t.join()",
    "a thread that stays": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    "a pool of threads": "from concurrent.futures import ThreadPoolExecutor\n"
    "with ThreadPoolExecutor(2) as pool: print(list(pool.map(abs, [-1])))",
    "processes": "import multiprocessing as mp\nprint(mp.cpu_count())\n"
    "with mp.get_context('fork').Pool(1) as pool: print(pool.map(abs, [-1]))",
    "a command": "import subprocess\nprint(subprocess.run(['echo', 'a'], capture_output=True))",
    "the system": "import os\nos.system('echo a')\nos.makedirs('a', exist_ok=True); os.chdir('a')",
    "input": "name = input('Your name? ')",
    "exit": "exit()",
    "quit": "quit()",
    "sys.exit": "import sys\nsys.exit(1)",
    "exit without a call": "exit",
    "an interrupt": "raise KeyboardInterrupt",
    "deep recursion": "def f(n): return f(n + 1)\nf(0)",
    "plots": "import matplotlib.pyplot as plt\nplt.figure(figsize=(3, 2)); plt.plot([1, 2])\n"
    "plt.savefig('x.png'); plt.show()\nplt.rcParams['figure.dpi'] = 50",
    "many figures": "import matplotlib.pyplot as plt\nfor _ in range(30): plt.figure()",
    "tqdm": "from tqdm import tqdm, trange\nfor _ in tqdm(range(3)): pass\n"
    "from tqdm.notebook import tqdm as bar",
    "display": "from IPython.display import display, HTML, Markdown, Image, clear_output\n"
    "display(HTML('<b>x</b>')); clear_output(wait=True); Markdown('x')",
    "widgets": "import ipywidgets\nipywidgets.IntSlider(value=3)",
    "matplotlib inline": "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'",
    "autoreload": "%load_ext autoreload\n%autoreload 2",
    "bash": "%%bash\npip install torch",
    "html": "%%html\n<b>bold</b>",
    "help": "print?\n?len\nsum??",
    "timeit with options": "%timeit -n 10 -r 3 sum(range(10))",
    "timeit with a name": "t = %timeit -o sum(range(10))\nprint(t.best)",
    "files of a command": "files = !ls\nprint(len(files))",
    "pip over lines": "!pip install \\\n    torch \\\n    numpy",
    "pip quietly": "%pip install -q torch\n!{'pip'} list | grep torch",
    "await": "import asyncio\nawait asyncio.sleep(0)\nawait asyncio.gather(asyncio.sleep(0, 1))",
    "async def": "async def f():\n    return 1\nx = await f()",
    "asyncio.run": "import asyncio\nasync def f(): return 1\nasyncio.run(f())",
    "walrus and match": "if (n := 3) > 2:\n    match n:\n        case int(): n",
    "f-strings": "x = 3\nprint(f\"{f'{x:>{3 + 2}}'!r} {x=}\")",
    "very long lines": "x = [" + "1, " * 30_000 + "]",
    "odd spaces": "x = 1\x0c\ny\xa0=\xa02",
    "star imports": "from torch import *\nfrom math import *\nfrom numpy import *",
    "names of builtins": "max = 3\nid = 7\nlen_ = len\nprint = print",
    "the names of the tests": "got = expected = 'mine'",
    "main": "if __name__ == '__main__':\n    print('main')",
    "the file's name": "try:\n    print(__file__)\nexcept NameError:\n    pass",
    "a future import": "from __future__ import annotations\ndef f(x: Unknown): pass",
    "classes": "from dataclasses import dataclass, field\nfrom enum import Enum\nimport abc\n"
    "@dataclass(slots=True, kw_only=True)\nclass A:\n    x: int = 0\n"
    "class E(Enum):\n    A = 1\nclass M(type): pass\nclass B(metaclass=M): pass",
    "pickles and sources": "import pickle, inspect\ndef f(): return 1\nclass A: pass\n"
    "assert pickle.loads(pickle.dumps(A())).__class__ is A\n"
    "assert 'return 1' in inspect.getsource(f)",
    "seeds": "import random, torch, numpy\ntorch.manual_seed(1); random.seed(1)\n"
    "numpy.random.seed(1); torch.set_num_threads(4)\n"
    "torch.use_deterministic_algorithms(True)",
    "a device": "import torch\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    "torch.zeros(2, device=device)\ntorch.set_default_device(device)",
    "torch's options": "import torch, numpy\ntorch.set_printoptions(sci_mode=False)\n"
    "numpy.set_printoptions(precision=2)\ntorch.set_grad_enabled(False)",
    "another default type": "import torch\ntorch.set_default_dtype(torch.float64)",
    "warnings as errors": "import warnings\nwarnings.simplefilter('error')",
    "a signal": "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "an exit hook": "import atexit\natexit.register(print, 'bye')",
    "output sent away": "import sys, io\nsys.stdout = io.StringIO()\nprint('lost')",
    "output closed": "import sys\nsys.stdout.close()",
    "a profile": "import cProfile, sys\nsys.setrecursionlimit(5000)\ncProfile.run('1 + 1')",
    "a comment on proc": "# /proc/self/status says how much memory there is",
    "memory read": "print([l for l in open('/proc/self/status') if 'VmRSS' in l])",
    "saved tensors": "import torch\n"
    "with torch.autograd.graph.saved_tensors_hooks(abs, abs): pass",
    "a module written": "%%writefile helper.py\nVALUE = 3",
    "a module written and imported": "open('other.py', 'w').write('VALUE = 3')\nimport other\n"
    "assert other.VALUE == 3",
    "an old prompt": ">>> x = 1\n>>> x",
    "a group of errors": "try:\n    1 / 0\nexcept* ZeroDivisionError:\n    pass",
    "garbage": "import gc\ngc.disable(); gc.collect(); gc.freeze()",
    "a big tensor": "import torch\nx = torch.zeros(50_000_000)\ndel x",
}

#: Right answers to the first task, as they are written.
ANSWERS = {
    "measured": "%%time\ndef double(x):\n    return 2 * x",
    "measured many times": "%%timeit\ndef double(x):\n    return 2 * x",
    "captured": "%%capture\ndef double(x):\n    return 2 * x",
    "written after its measurement": "%timeit -n 10 sum([1])\nt = %timeit -o sum([1])\n"
    "def double(x):\n    return 2 * x",
    "with magics beside": "%matplotlib inline\ndef double(x):\n    return 2 * x\n\n"
    "%timeit -n 10 double(3)\nt = %timeit -o double(3)\nfiles = !ls\n"
    "!pip install \\\n  torch\ndouble?",
    "with a question": "def double(x):\n    return 2 * x\n%timeit double(1) # is it fast?",
    "with a remainder": "def double(x):\n    return (2 * x\n%1000 if x > 0 else 2 * x)\n"
    "%time double(3)",
    "with await": "import asyncio\ndef double(x):\n    return 2 * x\nawait asyncio.sleep(0)",
    "with a written module": "open('two.py', 'w').write('TWO = 2')\nfrom two import TWO\n"
    "def double(x):\n    return TWO * x",
    "a lambda": "double = lambda x: 2 * x",
    "a partial": "import functools, operator\ndouble = functools.partial(operator.mul, 2)",
    "an object": "class Double:\n    def __call__(self, x):\n        return x + x\n"
    "double = Double()",
    "a static method": "class D:\n    @staticmethod\n    def d(x): return x + x\ndouble = D.d",
    "cached": "import functools\n@functools.cache\ndef double(x):\n    return 2 * x",
    "typed": "from typing import TypeVar\nT = TypeVar('T')\ndef double(x: T) -> T:\n"
    "    return x + x",
    "numpy's": "import numpy as np\ndef double(x):\n    return int(np.multiply(x, 2))",
    "a tensor": "import torch\ndef double(x):\n    return torch.tensor(2 * x)",
    "a tensor's number": "import torch\ndef double(x):\n    return torch.tensor(2 * x).item()",
    "a float": "def double(x):\n    return 2.0 * x",
    "printing": "def double(x):\n    print('doubling', x)\n    return 2 * x\nprint(double(3))",
    "printing much": "def double(x):\n    for i in range(50_000): print(i)\n    return 2 * x",
    "warning": "import warnings\ndef double(x):\n    warnings.warn('slow')\n    return 2 * x",
    "logging": "import logging\ndef double(x):\n    logging.error('x is %s', x)\n    return 2 * x",
    "plotting": "import matplotlib.pyplot as plt\ndef double(x):\n    plt.plot([x])\n"
    "    plt.show()\n    return 2 * x",
    "with a bar": "from tqdm import tqdm\ndef double(x):\n    return sum(2 * x for _ in tqdm([0]))",
    "in a thread": "from concurrent.futures import ThreadPoolExecutor\ndef double(x):\n"
    "    with ThreadPoolExecutor() as pool:\n"
    "        return pool.submit(lambda: 2 * x).result()",
    "in a process": "import subprocess, sys\ndef double(x):\n    return int(subprocess.run("
    "[sys.executable, '-c', f'print({x} * 2)'], capture_output=True, text=True)"
    ".stdout)",
    "in asyncio.run": "import asyncio\nasync def later(x):\n    return 2 * x\ndef double(x):\n"
    "    return asyncio.run(later(x))",
    "in a loop of its own": "import asyncio\nasync def later(x):\n    return 2 * x\n"
    "def double(x):\n"
    "    return asyncio.new_event_loop().run_until_complete(later(x))",
    "counting": "calls = 0\ndef double(x):\n    global calls\n    calls += 1\n"
    "    return 2 * x",
    "recursive": "def double(x):\n    return 0 if x == 0 else 2 * (x > 0) - 2 * (x < 0) + "
    "double(x - (x > 0) + (x < 0))",
    "with match": "def double(x):\n    match x:\n        case 0: return 0\n"
    "        case n if n: return n + n",
    "inside if": "if True:\n    def double(x):\n        return 2 * x",
    "executed": "exec('def double(x): return 2 * x')",
    "called at the end": "def double(x):\n    return 2 * x\nassert double(4) == 8\ndouble(4)",
    "with an error at the end": "def double(x):\n    return 2 * x\n\ndouble(None)",
    "with exit at the end": "def double(x):\n    return 2 * x\n\nexit()",
    "with magic in a string": "s = '''\n%%bash\n!ls\n'''\ndef double(x):\n    return 2 * x",
    "indented": "    def double(x):\n        return 2 * x",
    "with tabs": "def double(x):\n\treturn 2 * x",
    "with windows' ends": "def double(x):\r\n    return 2 * x\r\n",
    "with a long comment": "# " + "a" * 50_000 + "\ndef double(x):\n    return 2 * x",
    "with a class": "class Box:\n    def __init__(self, x): self.x = x\n"
    "    def __add__(self, other): return self.x + other.x\n"
    "def double(x):\n    return Box(x) + Box(x)",
    "with much output": "def double(x):\n    return 2 * x\nprint('y' * 2_000_000)",
    "with IPython's get_ipython": "from IPython import get_ipython\n%matplotlib inline\n"
    "%time TWO = 2\nget_ipython().run_line_magic('who', '')\n"
    "import IPython.core.getipython as inner\n"
    "inner.get_ipython().events.register('post_execute', print)\n"
    "def double(x):\n    return TWO * x",
    "without get_ipython": "get_ipython = None\n%time TWO = 2\ndef double(x):\n    return TWO * x",
    "with sharp figures": "from matplotlib_inline.backend_inline import set_matplotlib_formats\n"
    "set_matplotlib_formats('retina', 'svg')\n%time TWO = 2\n"
    "import pickle, IPython\nclass A: pass\npickle.dumps(A())\n"
    "IPython.get_ipython().run_cell_magic('time', '', 'TWO = TWO')\n"
    "from IPython.display import display, clear_output\n"
    "display(A()); clear_output()\n"
    "def double(x):\n    return TWO * x",
    "with the output's encoding": "import sys\nTWO = len('ä'.encode(sys.stdout.encoding, "
    "sys.stderr.errors))\nsys.stdout.isatty()\n"
    "import subprocess, faulthandler\nfaulthandler.enable()\n"
    "subprocess.run(['echo', 'a'], stdout=sys.stdout, "
    "stderr=sys.stderr, check=True)\n"
    "def double(x):\n    return TWO * x",
    "with a question to the user": "def double(x):\n    return 2 * x\nx = int(input())",
}

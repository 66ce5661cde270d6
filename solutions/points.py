"""The cell that counts a student's points, in every exercise; `tools/folding.py` writes it.

After each test cell it says how many of the points its visible lines give, also where the cell
stops with an error. It reads them in the cell's first line. Outside Jupyter it does nothing.
"""

# %% points
# @title Counts your points, as the tests run
import re

_points = {}  # by test: what its visible lines gave when it last ran


def _tell_points(result):
    """Say how many of its points a test gives, if it was a test that ran."""
    title = r"# @title Test (\S+) \(([\d.]+) points?\)"
    test = re.match(title, result.info.raw_cell or "")
    if test:
        name, most = test[1], float(test[2])
        _points[name] = most if result.success else 0.0
        print(f"{name}: {_points[name]:g} of {most:g} points")


def _points_so_far(tasks):
    """Print the points so far by task, and their sum. tasks: task -> its points."""
    if not _points:  # none has run, or not in Jupyter
        return
    found = dict.fromkeys(tasks, 0.0)
    for name, points in _points.items():
        found[name.partition("--")[0]] += points
    for task, most in tasks.items():
        print(f"{task:{max(map(len, tasks))}} {found[task]:4g} of {most:3g}")
    print(f"\n{sum(found.values()):g} of {sum(tasks.values()):g} points so far")


try:
    _events = get_ipython().events
except (NameError, AttributeError):  # not in Jupyter
    _events = None
if _events:
    for _handler in list(_events.callbacks["post_run_cell"]):
        if _handler.__name__ == "_tell_points":  # this cell ran before
            _events.unregister("post_run_cell", _handler)
    _events.register("post_run_cell", _tell_points)

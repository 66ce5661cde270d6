"""The instructor's side: grades a class's notebooks, each in a process of its own.

    python -m grading run ASSIGNMENT

A submission's code runs in a sandboxed process; the tests run outside it. Points go into nbgrader's
gradebook, so that `nbgrader export`, formgrader and the rest of nbgrader work on the result.
"""

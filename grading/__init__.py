"""The instructor's side: grades a class's notebooks, each in a process of its own.

    python -m grading run ASSIGNMENT

A submission's code runs in a sandboxed process; the tests run outside it. Points go into nbgrader's
gradebook, so that `nbgrader export`, formgrader and the rest of nbgrader work on the result.

Where to begin reading: `course` (a run), `pipeline` (one submission), `submission` (which cells are
whose), `verdict` (a test cell), `sandbox` (a student's process), `gradebook` (what is written) and
`standing` (what everything after grading reads).
"""

"""The instructor's side: grades a class's notebooks, each in a process of its own.

    python -m grading run ASSIGNMENT

A submission's code runs in a sandboxed process; the tests run outside it. Points go into nbgrader's
gradebook, so that `nbgrader export`, formgrader and the rest of nbgrader work on the result.

The rooms, lower ones first; none imports a higher one:

course      the files of a course; `submission` says which cells are whose
sandbox     a student's process: `worker` starts it, `zygote` is the warm process inside
wire        messages: values, tensors and their memory as parts of them
bridge      the tests here, the student's code there, requests and answers between them
verdict     `cells` executes a test cell, and says whether it passed
gradebook   `writer` writes it, `standing` is what everything after grading reads
feedback    a student's page
check       one notebook: for students before handing in, for teachers in JupyterLab
run         a class: `batch` is a run, `pipeline` grades one submission
lms         CSV and zip files of Canvas and Moodle, Gradescope, LTI 1.3
"""

"""How nbgrader sees this course: `nbgrader <command>` reads it when run in this folder."""

c = get_config()  # noqa: F821 - nbgrader provides it

c.CourseDirectory.course_id = "attention"

# An assignment is written in solutions/ and handed out from exercises/.
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

# What stands in a released notebook where the solution was. It raises, so that the tests of an
# untouched task fail with this message; nbgrader counts a task with it as not answered.
c.ClearSolutions.code_stub = {
    "python": 'raise NotImplementedError("Replace this line with your code.")'
}

# Seconds for one cell. A whole assignment takes less than 30 on two cores; an endless loop in a
# submission costs the class at most this much for each cell that it touches.
c.Execute.timeout = 60

# A test cell that was deleted is put back before grading, instead of being lost with its points.
c.OverwriteCells.add_missing_cells = True

# Text on stderr in a test cell costs its points. Lines like "[W1121 … x.cpp:82] …" are warnings
# of PyTorch about the machine, not about the student's work: text that is nothing else is dropped.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = r"\A(\[W[^\]\n]*\.cpp:\d+\][^\n]*\n?)+\Z"

# A submission that prints without end must not fill the disk and the feedback page.
c.LimitOutput.max_lines = 200
c.LimitOutput.max_traceback = 60

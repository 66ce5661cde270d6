"""How nbgrader sees this course: `nbgrader <command>` reads it when run in this folder."""

from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearOutput,
    DeduplicateIds,
    OverwriteCells,
    OverwriteKernelspec,
)

c = get_config()  # noqa: F821 - nbgrader provides it

c.CourseDirectory.course_id = "attention"

# An assignment is written in solutions/ and handed out from exercises/.
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"
# The contract of an assignment, beside its notebook, is not handed out.
c.CourseDirectory.ignore = [
    ".ipynb_checkpoints",
    "*.pyc",
    "__pycache__",
    "feedback",
    "contract.py",
]

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


class ForgetCopies(DeduplicateIds):
    """Make plain cells of all but the last cell with the same grade_id.

    Splitting or copying a cell in JupyterLab makes such cells. nbgrader's own preprocessor leaves
    an empty entry in their metadata, at which the next one ends the run of the whole class.
    """

    def preprocess_cell(self, cell, resources, cell_index):
        """Drop the entry if nbgrader emptied it."""
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if cell.metadata.get("nbgrader") == {}:
            del cell.metadata["nbgrader"]
        return cell, resources


c.Autograde.sanitize_preprocessors = [
    ClearOutput,
    ForgetCopies,
    OverwriteKernelspec,
    OverwriteCells,
    CheckCellMetadata,
]

# Under `nbgrader autograde`, text on stderr in a test cell costs its points (`make grade` takes
# none for it). Lines like "[W1121 … x.cpp:82] …" are warnings of PyTorch about the machine, not
# about the student's work: text that is nothing else is dropped.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = r"\A(\[W[^\]\n]*\.cpp:\d+\][^\n]*\n?)+\Z"

# A submission that prints without end must not fill the disk and the feedback page.
c.LimitOutput.max_lines = 200
c.LimitOutput.max_traceback = 60

# Grades are made by `make grade` (python -m grading run), which knows four states: graded, missing,
# failed, suspect. nbgrader's own exporter writes 0.0 for a submission that could not be graded;
# this one leaves its score empty, says the state, and quotes commas. `nbgrader export` uses it.
c.ExportApp.plugin_class = "grading.gradebook.export.StateCsvExport"

# nbgrader's own autograder would run students' code with your rights, and its feedback shows hidden
# tests. Formgrader's buttons, `nbgrader autograde` and `nbgrader generate_feedback` therefore grade
# as `make grade` does, in the sandbox, and write its pages.
c.Autograde.exporter_class = "grading.run.formgrader.AutogradeExporter"
c.GenerateFeedback.exporter_class = "grading.run.formgrader.FeedbackExporter"

# Handing in late costs nothing, unless this is changed. A due date is set in formgrader, or by
#     nbgrader db assignment add 02-self-attention --duedate "2030-01-31 23:59 CET"
# and a submission's time is in the timestamp.txt beside it, as nbgrader's collect writes it.
c.AssignLatePenalties.plugin_class = "grading.gradebook.late.LatePolicy"
c.LatePolicy.percent_per_day = 0  # of the points earned, for each day that has begun
c.LatePolicy.most_percent = 100  # taken at most
c.LatePolicy.grace_minutes = 0  # after the due date that cost nothing

# Hidden tests draw their inputs from the secret in this file: see `python -m grading secret`. The
# usual place is in this folder; the environment's COURSE_SECRET_FILE goes first.
# c.Grading.course_secret = "/etc/attention/course_secret"

# Grades of a large course belong into PostgreSQL:
# c.CourseDirectory.db_url = "postgresql://USER@HOST/NAME"

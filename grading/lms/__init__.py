"""Between the grader and a learning management system: submissions in, grades and feedback out.

    python -m grading lms --help

Files of Canvas, Moodle and Gradescope are read and written here. What comes from outside (a zip, a
table, a name in either) is never trusted: it decides no path, and nothing of it is executed.
"""

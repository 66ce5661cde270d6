"""nbgrader for students: the exercises that a link fetched, handed in through the exchange."""

import os
from pathlib import Path

c = get_config()  # noqa: F821 - nbgrader provides it

c.CourseDirectory.course_id = os.environ["COURSE_ID"]
# A folder of one's own: see inboxes.py. Its group are the instructors; "shared" also tells
# nbgrader not to ask for an exchange in which everybody may write.
c.Exchange.root = os.environ["COURSE_EXCHANGE"]
c.CourseDirectory.groupshared = True
# Where links put the exercises, so that the assignment list offers them for handing in.
exercises = Path.home() / "exercises"
exercises.mkdir(exist_ok=True)
c.Exchange.assignment_dir = str(exercises)

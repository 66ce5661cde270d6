"""nbgrader for instructors: the course's own settings, and the exchange with its inboxes."""

import os
import sys
from pathlib import Path

c = get_config()  # noqa: F821 - nbgrader provides it

# By the link in the home folder: Formgrader wants the course below the server's root.
course = Path.home() / "course"
load_subconfig(str(course / "nbgrader_config.py"))  # noqa: F821

c.CourseDirectory.root = str(course)
c.CourseDirectory.course_id = os.environ["COURSE_ID"]
c.CourseDirectory.db_url = os.environ.get(
    "COURSE_GRADEBOOK", f"sqlite:///{course}/gradebook.db"
)
# Several instructors share the course through their group.
c.CourseDirectory.groupshared = True
c.Exchange.root = os.environ["COURSE_EXCHANGE"]

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from inboxes import CollectFromInboxes  # noqa: E402 - beside this folder

c.ExchangeFactory.collect = CollectFromInboxes

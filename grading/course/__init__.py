"""The files of a course: assignments, submissions, their states, the database."""

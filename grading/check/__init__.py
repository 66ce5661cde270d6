"""One notebook before and after grading: `check` and Validate for students, review for teachers."""

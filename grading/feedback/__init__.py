"""A student's feedback page."""

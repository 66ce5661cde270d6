"""Grades a class: submissions through the pipeline, in several processes."""

"""An autograder for Gradescope."""

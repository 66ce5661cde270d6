"""The programs behind the Makefile: set-up, build, export and checks."""

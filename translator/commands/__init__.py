"""The subcommands of `python -m translator`, a module each.

A module has HELP (a line), EXAMPLES (shown at the end of --help), `add_arguments(parser)` and
`run(args)`, which returns the exit status or None for success. It imports what is slow to import
inside `run`, so that --help answers at once.
"""

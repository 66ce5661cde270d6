"""Judges a test cell: executed here, in the trusted process, against code in another one."""

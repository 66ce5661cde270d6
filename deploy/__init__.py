"""The course on a server: a hub with a login from the learning platform, and nbgrader's exchange.

`README.md` beside this file says how to start it, and what it protects from whom.
"""

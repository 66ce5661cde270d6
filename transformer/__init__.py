"""The Transformer that the book builds, one module a chapter: see ``make library``."""

"""The Transformer that the book builds: one module a chapter, exported by ``make library``."""

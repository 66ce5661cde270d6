"""The built website: its files, its pages in a real browser, and its Sphinx extension."""

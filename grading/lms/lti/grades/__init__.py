"""Sends scores to a platform, each once."""

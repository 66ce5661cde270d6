"""Parallel text: from corpora to batches of token ids."""

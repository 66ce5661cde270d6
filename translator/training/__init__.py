"""Training a model: the loop, what it saves, what it tells."""

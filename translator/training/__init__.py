"""Training a model, and comparing trainings."""

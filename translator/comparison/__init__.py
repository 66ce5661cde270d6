"""Comparing: trainings that differ in one thing, and speed beside nn.Transformer's."""

"""The chapters of the course, and the few helpers that their code cells share."""

"""Tests of the course: they mirror the rooms of the repository."""

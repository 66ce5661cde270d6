"""Tests of what the chapters share."""

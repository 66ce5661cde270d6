"""Tests of the LTI tool."""

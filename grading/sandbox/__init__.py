"""Runs untrusted code: bubblewrap, resource limits, one forked process a session."""

"""What LTI 1.3 says: launches, keys, platforms, memberships, services; and what is kept of it."""

"""Test cells in the trusted process, a submission's code in another, messages between them."""

"""What a class made of an assignment: one page and a table."""

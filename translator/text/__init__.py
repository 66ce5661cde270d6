"""What a text has beside words: names, marks, addresses, units, markup; and what it must keep."""

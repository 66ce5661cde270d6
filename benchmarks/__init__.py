"""What is measured beside other people's programs: `make bench`."""

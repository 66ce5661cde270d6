"""CSV files and zip archives that an LMS reads and writes."""

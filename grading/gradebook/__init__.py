"""nbgrader's gradebook: written, read, exported; late work and suspect submissions."""

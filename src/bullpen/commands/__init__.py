"""What people write with a slash: words to the office itself, and the skills of a space."""

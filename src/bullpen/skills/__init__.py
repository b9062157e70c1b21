"""What a space keeps under a name: instructions that people start with `/name`."""

"""Programs that look at this repository: never shipped, run through the Makefile."""

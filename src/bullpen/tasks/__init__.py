"""Tasks: what a space has an agent do, and when. Each time at which one is due is a row, and there is one of it."""

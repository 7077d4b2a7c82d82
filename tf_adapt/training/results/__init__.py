"""What is measured at the end of a run: scores, slices, forgetting, memory."""

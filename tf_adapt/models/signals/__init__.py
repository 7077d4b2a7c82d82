"""What a model learns from beside its labels: auxiliary losses, a teacher, heads of slices."""

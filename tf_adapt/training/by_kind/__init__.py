"""What training does with one kind of task alone, a file a kind."""

"""What serving does with one kind of task: one file a kind."""

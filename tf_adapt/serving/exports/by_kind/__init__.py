"""What the graph of an export does for one kind of task: one file a kind."""

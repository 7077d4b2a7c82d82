"""What models do with each kind of task: dummy examples, predictions, one answer from several."""

"""What a report says of a search."""

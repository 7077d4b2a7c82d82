"""What a report says of a comparison within minutes."""

"""Foreign SavedModels as programs: tried, trusted and run as they are; checks of what they get."""

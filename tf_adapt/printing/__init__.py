"""Output for users: numbers as text, the terminal's streams, progress bars."""

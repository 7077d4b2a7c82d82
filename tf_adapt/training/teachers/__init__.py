"""The answers of a teacher to a student's texts, and the texts without labels."""

"""A small general encoder from a large one: a student of some of a module's layers."""

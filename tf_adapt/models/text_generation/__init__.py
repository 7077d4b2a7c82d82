"""A model that writes a text about another one: a pretrained encoder and a pretrained decoder."""

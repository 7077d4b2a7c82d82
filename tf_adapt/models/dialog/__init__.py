"""A model of dialogues: the next reply, and which of several replies is the right one."""

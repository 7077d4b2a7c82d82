"""The commands of `tf-adapt`; each imports its implementation when it is called."""

"""The commands of `tf-adapt`; what computes is imported when one is called."""

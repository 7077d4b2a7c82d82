"""Many runs and the verdict: which adaptation to use, on the user's own data."""

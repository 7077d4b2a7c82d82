"""The table of public layers and heads: what each is made with and called with."""

"""Records to tokens and packed rows."""

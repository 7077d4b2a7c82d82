"""Contrastive tuning: an encoder on pairs of texts, then a head in closed form."""

"""Trained models as SavedModels on raw text."""

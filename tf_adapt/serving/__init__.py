"""Predictions and exports of trained models."""

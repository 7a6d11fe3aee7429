"""Gradient boosting over views that share one gradient per row."""

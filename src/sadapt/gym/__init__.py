"""Gymnasium faces of the worlds."""

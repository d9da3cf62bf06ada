"""Rows from a fitted model."""

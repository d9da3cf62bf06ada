"""Measurements -> Model. Sees what was released, and nothing else: post-processing (T1)."""

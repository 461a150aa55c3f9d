"""Template tags for the fragments of running streams."""

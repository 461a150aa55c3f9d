"""Template tags that the fragments of running streams use."""

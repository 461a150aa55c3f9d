"""Back-tests: a policy run over the record."""

"""What a chunk costs: `make bench`. docs/performance.md says how to read its table."""

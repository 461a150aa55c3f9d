"""Benchmarks of what a chunk costs: `make bench`. docs/performance.md says how to read the tables."""

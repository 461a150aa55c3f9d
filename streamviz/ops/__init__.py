"""Running streamviz: the `up` and `serve` commands, and what they check first."""

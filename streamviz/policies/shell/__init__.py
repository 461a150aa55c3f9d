"""Read shell commands as a shell would, without running anything: what would run, and what is dangerous about it."""

"""A call's life without I/O: events come in, commands go out."""

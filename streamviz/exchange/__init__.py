"""A call's life without I/O: what happens comes in as events, what is to be done about it goes out as commands."""

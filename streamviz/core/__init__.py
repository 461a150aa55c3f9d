"""The pure core: chunks in, events and actions out. No Django, no I/O, no clock."""

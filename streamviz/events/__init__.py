"""A stream as events for other programs: in AG-UI's vocabulary, and as JSON lines in our own.

Pure: reports come in, in order, and events go out.
"""

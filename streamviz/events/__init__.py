"""A stream as events that others can read: in AG-UI's vocabulary, and as lines of JSON in our own words.

Pure: what happened comes in, in order, and its events go out.
"""

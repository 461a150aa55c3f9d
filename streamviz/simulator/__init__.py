"""A model provider with no model: named scenarios and recorded streams over real HTTP, in three wire formats.

It shares no code with the rest of streamviz, so that what passes against it was not written to agree with it.
"""

"""A model provider without a model: named scenarios and recorded streams over real HTTP, in four wire formats.

It shares no code with the rest of streamviz, so that what passes against it was not written to agree with it.
"""

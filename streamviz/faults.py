"""What can go wrong around the program, as opposed to inside it."""


class Fault(Exception):
    """Something that the person who started streamviz can put right; the text is one line and says how."""

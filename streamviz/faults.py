"""What can go wrong around the program, as opposed to inside it."""


class Fault(Exception):
    """Something that the person who started streamviz can fix; the text is one line and says how."""

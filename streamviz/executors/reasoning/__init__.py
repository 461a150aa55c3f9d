"""The executor `reasoning`: it plans in steps, uses tools, and then writes the answer, all in one stream."""

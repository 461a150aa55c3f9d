"""What an MCP server may send: so much at once, and so much in a run."""

MESSAGE_BYTES = 1024 * 1024
RUN_BYTES = 256 * 1024 * 1024


class TooMuch(Exception):
    """A server sent more than anybody reads."""


class Allowance:
    """What a server may still send in a run."""

    def __init__(self) -> None:
        self._left = RUN_BYTES

    def take(self, count: int) -> None:
        """Raises TooMuch."""
        self._left -= count
        if self._left < 0:
            raise TooMuch(f"it sent more than {RUN_BYTES} bytes in a run")

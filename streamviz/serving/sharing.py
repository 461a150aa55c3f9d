"""How many connections each of the servers that share a port has, in a file that all of them map into memory."""

import mmap
import os
from array import array
from typing import Final, Self

_AWAY = -1
_TYPE: Final = "i"


class Shares:
    """The counts of all servers."""

    def __init__(self, file: int) -> None:
        """`file` is the descriptor of a file that `make` has filled."""
        self._counts = memoryview(mmap.mmap(file, 0)).cast(_TYPE)

    @classmethod
    def make(cls, file: int, servers: int) -> Self:
        """Fill an empty file for so many servers, none of which serves yet."""
        os.write(file, array(_TYPE, [_AWAY] * servers).tobytes())
        return cls(file)

    def serves(self, server: int) -> bool:
        """Whether this server, counted from 0, accepts connections."""
        return self._counts[server] != _AWAY

    def ended(self, server: int) -> None:
        """Note that this server accepts no more connections, whether it could say so itself or not."""
        self._counts[server] = _AWAY


class Share(Shares):
    """The same, for one of the servers."""

    def __init__(self, file: int, server: int) -> None:
        super().__init__(file)
        self._server = server

    def begin(self) -> None:
        """Accept connections from now on."""
        self._counts[self._server] = 0

    def end(self) -> None:
        """Accept no more connections."""
        self.ended(self._server)

    def change(self, by: int) -> None:
        """Add to the number of its connections."""
        if self.serves(self._server):
            self._counts[self._server] += by

    def is_more_than_anothers(self) -> bool:
        """Whether another server that accepts connections has fewer."""
        own = self._counts[self._server]
        return any(_AWAY < count < own for count in self._counts)

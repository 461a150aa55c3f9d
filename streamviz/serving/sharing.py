"""How many connections each of the servers has that share a port: in a file that all of them have in memory."""

import mmap
import os
from array import array
from typing import Final, Self

_AWAY = -1
_TYPE: Final = "i"


class Shares:
    """The numbers of all of them."""

    def __init__(self, file: int) -> None:
        """`file` is the descriptor of one in which `make` has made them."""
        self._counts = memoryview(mmap.mmap(file, 0)).cast(_TYPE)

    @classmethod
    def make(cls, file: int, servers: int) -> Self:
        """In an empty file, for so many servers, none of which serves yet."""
        os.write(file, array(_TYPE, [_AWAY] * servers).tobytes())
        return cls(file)

    def serves(self, server: int) -> bool:
        """Whether this one, counted from 0, takes connections."""
        return self._counts[server] != _AWAY

    def ended(self, server: int) -> None:
        """This one takes no more, whether it could say so itself or not."""
        self._counts[server] = _AWAY


class Share(Shares):
    """The same, for one of them."""

    def __init__(self, file: int, server: int) -> None:
        super().__init__(file)
        self._server = server

    def begin(self) -> None:
        """It takes connections from now on."""
        self._counts[self._server] = 0

    def end(self) -> None:
        """It takes no more."""
        self.ended(self._server)

    def change(self, by: int) -> None:
        """It has so many connections more."""
        if self.serves(self._server):
            self._counts[self._server] += by

    def is_more_than_anothers(self) -> bool:
        """Whether another that takes connections has fewer."""
        own = self._counts[self._server]
        return any(_AWAY < count < own for count in self._counts)

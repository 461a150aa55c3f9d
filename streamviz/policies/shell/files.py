"""Files whose content is known, because the script itself wrote them."""

from collections.abc import Iterator, Mapping


class Files(Mapping[str, str]):
    """Contents by path. What is written to a file is appended, whether or not the script appends it, and joined only
    when the file is read: a script may write one line by line."""

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}

    def __getitem__(self, path: str) -> str:
        text = "".join(self._pieces[path])
        self._pieces[path] = [text]
        return text

    def __contains__(self, path: object) -> bool:
        return path in self._pieces

    def __iter__(self) -> Iterator[str]:
        return iter(self._pieces)

    def __len__(self) -> int:
        return len(self._pieces)

    def append(self, path: str, text: str) -> None:
        self._pieces.setdefault(path, []).append(text)

    def copy(self, source: str, target: str) -> None:
        """Give `target` the content of `source`, if that is known."""
        if source in self:
            self._pieces[target] = [self[source]]

"""The static files, which a server looks for once, and each `Client` of a test would anew: 17 ms for its first page."""

from typing import Any

from whitenoise.middleware import WhiteNoiseMiddleware

_look = WhiteNoiseMiddleware.add_files_from_finders
_found: dict[str, dict[str, Any]] = {}


def find_once() -> None:
    """From now on a process looks for them once for each prefix, as its files do not change meanwhile."""
    WhiteNoiseMiddleware.add_files_from_finders = _find


def _find(middleware: Any) -> None:
    kind = f"{type(middleware).__qualname__} {middleware.static_prefix}"
    if kind not in _found:
        _look(middleware)
        _found[kind] = dict(middleware.files)
    middleware.files.update(_found[kind])

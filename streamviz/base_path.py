"""BASE_PATH: the path, if not `/`, below which a proxy serves everything; the proxy may remove it or leave it on."""

from django.conf import settings


def below(path: str) -> str:
    """A request's path without BASE_PATH, whether or not it still has it."""
    base: str = settings.BASE_PATH
    if base and (path == base or path.startswith(f"{base}/")):
        return path[len(base) :] or "/"
    return path

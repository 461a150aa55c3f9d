"""BASE_PATH: where a proxy serves all this below another path than `/`, and takes that off, or leaves it on."""

from django.conf import settings


def below(path: str) -> str:
    """A request's path without BASE_PATH, whether or not it still has it."""
    base: str = settings.BASE_PATH
    if base and (path == base or path.startswith(f"{base}/")):
        return path[len(base) :] or "/"
    return path

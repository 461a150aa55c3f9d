"""Read settings from environment variables. An invalid value is refused with one clear line."""

import hashlib
import os
import re
import secrets
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from streamviz import cores
from streamviz.made_once import made_once

PACKAGE = Path(__file__).resolve().parent
IS_CLONE = (PACKAGE.parent / "manage.py").exists()
# How our commands are called in this installation.
COMMAND = "python manage.py" if IS_CLONE else "streamviz"
TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off"}
MOST_WORKERS = 256
PREFIX = "STREAMVIZ_"
# Settings that other programs have too: variables with similar names may be theirs.
SHARED_PREFIXES = ("OTEL_", "XDG_")
# Common variables of other programs whose names are close to those of settings.
FOREIGN = {"DATABASE_USER", "REDIS_URI"}
# Shorter names are too often similar to another program's.
LEAST_LETTERS, LIKENESS = 6, 0.85
LEAST_DIFFERENT_CHARACTERS = 5
# Python and Postgres can still calculate with a day that long ago.
MOST_DAYS = 36_500
MOST_DIGITS = 18
# The first parts of the paths that streamviz answers itself.
OUR_PATHS = frozenset(
    "account admin api compare errors favicon.ico healthz keys metrics needs-you policies public-links readyz sessions "
    "shared sign-in sign-out simulate static stats streams system v1 v1alpha v1beta views ws".split()
)
PLACEHOLDER = re.compile(r"change.?me|django-insecure|your.?secret|replace.?(me|with)", re.IGNORECASE)
# As Django writes hosts: without a port; a leading dot means all subdomains.
_HOST = re.compile(r"\*|\.?[a-z0-9-]+(\.[a-z0-9-]+)*\.?|\[[0-9a-f:.]+\]", re.IGNORECASE)
_HOST_NAME = re.compile(r"[A-Za-z0-9._-]+")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/*?#@]+")
_asked: set[str] = set()


def text(name: str, default: str = "") -> str:
    """The variable's text without surrounding space; an empty variable counts as unset."""
    _asked.add(name)
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool) -> bool:
    """Raises ImproperlyConfigured if the text is neither a word for true nor one for false."""
    word = text(name).lower()
    if not word:
        return default
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {word!r}.")
    return word in TRUE_WORDS


def port(name: str, default: int) -> int:
    """A TCP port. Raises ImproperlyConfigured if it is not a number from 1 to 65535."""
    word = text(name, str(default))
    if not word.isdecimal() or not 1 <= int(word) <= 65535:
        raise ImproperlyConfigured(f"{name} must be a port from 1 to 65535, not {word!r}.")
    return int(word)


def host(name: str, default: str) -> str:
    """Where to listen. Raises ImproperlyConfigured if it is neither an address nor a name."""
    word = text(name, default)
    try:
        ip_address(word)
    except ValueError:
        if not _HOST_NAME.fullmatch(word):
            raise ImproperlyConfigured(
                f"{name} must be an address or a name to listen on, such as 0.0.0.0, without scheme, port or brackets, "
                f"not {word!r}."
            ) from None
    return word


def seconds(name: str, default: float) -> float:
    """A time in seconds, above 0. Raises ImproperlyConfigured for anything else."""
    return amount(name, default, "a time in seconds")


def amount(name: str, default: float, meaning: str) -> float:
    """A number above 0. Raises ImproperlyConfigured for anything else, with `meaning` as what it should be."""
    word = text(name, str(default))
    try:
        value = float(word)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise ImproperlyConfigured(f"{name} must be {meaning}, not {word!r}.")
    return value


def count(name: str, default: int, least: int = 0) -> int:
    """A whole number of at least `least`. Raises ImproperlyConfigured for anything else."""
    word = text(name, str(default))
    if not word.isdecimal() or len(word) > MOST_DIGITS or int(word) < least:
        bound = f" of at least {least}" if least else ""
        raise ImproperlyConfigured(f"{name} must be a whole number{bound}, not {word[:40]!r}.")
    return int(word)


def days(name: str, default: int) -> int:
    """A number of days from 0 to MOST_DAYS. Raises ImproperlyConfigured for anything else."""
    number = count(name, default)
    if number > MOST_DAYS:
        raise ImproperlyConfigured(f"{name} must be at most {MOST_DAYS} days, not {number}.")
    return number


def workers(name: str) -> int:
    """How many processes: a number, 1 if unset, or `auto`, one for each core that this process may use. Raises
    ImproperlyConfigured for anything else."""
    word = text(name, "1").lower()
    if word == "auto":
        return cores.usable()
    if not word.isdecimal() or len(word) > 3 or not 1 <= int(word) <= MOST_WORKERS:
        raise ImproperlyConfigured(f"{name} must be auto, or a number from 1 to {MOST_WORKERS}, not {word!r}.")
    return int(word)


def words(name: str) -> list[str]:
    """A comma-separated list; empty if the variable is unset."""
    return [word.strip() for word in text(name).split(",") if word.strip()]


def hosts(name: str) -> list[str]:
    """Host names, comma-separated. Raises ImproperlyConfigured for what no request could name."""
    for word in (found := words(name)):
        if not _HOST.fullmatch(word):
            raise ImproperlyConfigured(
                f"{name} must be names such as viz.example, without scheme, port or path, not {word!r}."
            )
    return found


def origins(name: str, *, may_be_all: bool = False) -> list[str]:
    """Origins as browsers write them, comma-separated; `*` is all of them with `may_be_all`, otherwise
    `https://*.viz.example` is allowed. Raises ImproperlyConfigured for what no browser could send."""
    found = [word.lower().rstrip("/") for word in words(name)]
    for word in found:
        is_all = may_be_all and word == "*"
        if not is_all and not _ORIGIN.fullmatch(word if may_be_all else word.replace("://*.", "://", 1)):
            raise ImproperlyConfigured(f"{name} must be origins such as https://viz.example, not {word!r}.")
    return found


def address(name: str, default: str = "") -> str:
    """An HTTP address. Raises ImproperlyConfigured, without repeating the value, if it is not one."""
    return _url(name, ("http", "https"), "http://HOST:PORT", default)


def redis(name: str) -> str:
    """The address of a Redis. Raises ImproperlyConfigured, without repeating the value, if it is not one."""
    return _url(name, ("redis", "rediss", "unix"), "redis://HOST:6379/0")


def redis_layer(url: str, secret: str) -> dict[str, Any]:
    """Settings for CHANNEL_LAYERS: a channel layer on this Redis for those only who have this secret. What is published
    there reaches everybody who uses that Redis, whichever of its databases they named."""
    whose = hashlib.sha256(f"streamviz channels {secret}".encode()).hexdigest()[:16]
    options = {"hosts": [url], "prefix": f"streamviz.{whose}."}
    return {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": options}


def _url(name: str, schemes: tuple[str, ...], example: str, default: str = "") -> str:
    url = text(name, default)
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in schemes and bool(parts.path if parts.scheme == "unix" else parts.netloc)
        is_one = is_one and parts.port != 0  # the port is parsed here: it may not be a number
    except ValueError:
        is_one = False
    if url and not is_one:
        raise ImproperlyConfigured(f"{name} must look like {example}.")
    return url


def networks(name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks (10.0.0.0/8), comma-separated. Raises ImproperlyConfigured for anything else."""
    try:
        return tuple(ip_network(word) for word in words(name))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} must be addresses or networks such as 10.0.0.0/8: {error}.") from None


def choice(name: str, allowed: tuple[str, ...], default: str) -> str:
    """The one of `allowed` that is set, in whichever case. Raises ImproperlyConfigured if none is."""
    word = text(name, default)
    for each in allowed:
        if word.lower() == each.lower():
            return each
    raise ImproperlyConfigured(f"{name} must be one of {', '.join(allowed)}, not {word!r}.")


def secret(name: str, least: int) -> str:
    """A secret of at least `least` characters; empty if it is unset. Raises ImproperlyConfigured, without repeating the
    value, if it can be guessed."""
    word = text(name)
    is_guessable = len(set(word)) < LEAST_DIFFERENT_CHARACTERS or PLACEHOLDER.search(word)
    if word and (len(word) < least or is_guessable):
        raise ImproperlyConfigured(
            f"{name} is too weak: it needs at least {least} random characters. Make it with: openssl rand -hex 32"
        )
    return word


def refuse_misspelt() -> None:
    """Raises ImproperlyConfigured for a variable whose name is close to that of a setting, if that setting is not set,
    not even to an empty value. To be called once all settings are read."""
    for name, meant in _near_names():
        if meant not in os.environ:
            raise ImproperlyConfigured(
                f"{name} is not a setting; {meant} is. Rename it, or set {meant} too, perhaps empty, where {name} is "
                "another program's."
            )


def misspelt_beside() -> list[str]:
    """A line for each variable whose name is close to that of a setting that is set as well. It may be another
    program's, so it is not refused; an empty setting says that it is."""
    return [
        f"{name} is not a setting, and does nothing; {meant} is, and is set."
        for name, meant in _near_names()
        if os.environ.get(meant, "").strip()
    ]


def _near_names() -> Iterator[tuple[str, str]]:
    """Variables whose names are close to a setting's, each with that setting's name."""
    ours = {name for name in _asked if not name.startswith(SHARED_PREFIXES)}
    for name in sorted(os.environ.keys() - _asked - FOREIGN):
        if meant := _meant(name, ours):
            yield name, meant


def _meant(name: str, settings: set[str]) -> str | None:
    """The setting that a variable's name was probably meant to be. In Kubernetes a service named streamviz gives every
    container a STREAMVIZ_PORT, which is an address."""
    bare = name.removeprefix(PREFIX)
    if bare != name:
        return bare if bare in settings and "://" not in os.environ[name] else None
    likely = [setting for setting in settings if len(setting) >= LEAST_LETTERS]
    return next(iter(get_close_matches(name, likely, 1, LIKENESS)), None)


def base_path(name: str) -> str:
    """A path such as /streamviz, without a trailing slash; empty for `/`. Raises ImproperlyConfigured if it is not a
    path, or begins like one of our own, because requests could not be told apart then."""
    word = text(name).rstrip("/")
    if word.split("/")[1:2] and word.split("/")[1] in OUR_PATHS:
        raise ImproperlyConfigured(f"{name} must not begin with a path of streamviz's own, as {word!r} does.")
    if not re.fullmatch(r"(/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*", word):
        raise ImproperlyConfigured(f"{name} must be a path such as /streamviz, not {word!r}.")
    return word


def is_installed(module: str) -> bool:
    """Whether a module is there that comes with an extra."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def miss(setting: str, what: str, package: str) -> NoReturn:
    """Raises ImproperlyConfigured for a setting that needs what is not installed. The message names that package, not
    ours with an extra, because on the package index our name is somebody else's."""
    raise ImproperlyConfigured(
        f"{setting} is set, but {what} is not installed: {sys.executable} -m pip install {package}"
    )


def data_home() -> Path:
    """Where an installed streamviz has its data, `~/.local/share/streamviz` (the XDG Base Directory Specification).
    Raises ImproperlyConfigured if the user has no home."""
    if given := text("XDG_DATA_HOME"):
        return Path(given) / "streamviz"
    try:
        return Path.home() / ".local" / "share" / "streamviz"
    except RuntimeError:
        raise ImproperlyConfigured("VAR_DIR must be set: this user has no home directory for its data.") from None


def kept_secret(path: Path) -> str:
    """A secret that is made once and kept in a file that only its owner can read. Raises ImproperlyConfigured if the
    folder cannot be written to, or if root would create the file in the folder of a user who could not read it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and path.parent.stat().st_uid != 0 and not path.exists():
            raise ImproperlyConfigured(
                f"VAR_DIR={path.parent} belongs to another user, who could not read what root creates there. Run this "
                "as that user, with its settings."
            )
        return made_once(path, lambda: secrets.token_urlsafe(50)).strip()
    except OSError as error:
        raise ImproperlyConfigured(f"VAR_DIR={path.parent} cannot be used: {error.strerror}.") from None

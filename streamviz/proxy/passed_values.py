"""What may be recorded of the JSON values and the fields of a call that passes through unread: all but the credentials
that it has for others, where requests have a place for them and wherever they are named as such."""

import re
from operator import is_not

from streamviz.core.json_value import decode, encode, is_too_deep
from streamviz.core.request_credentials import MASK, without_credentials

TOO_DEEP = b"(nested too deeply)"
# What may stand before JSON.
BEFORE = b"\xef\xbb\xbf \t\r\n"
# The steps of a field's name, such as `tools[0][headers][x]`.
_STEP = re.compile(r"[^\[\].]+")
LONGEST_NAME = 1_000
_MOST_STEPS = 20
_HYPHENS = str.maketrans("", "", "_-")
# How names of credentials end, in lower case without underscores, hyphens and a plural's s, and what they are where a
# longer name that ends so may be of anything.
_ENDINGS = (
    *("auth", "authorization", "bearer", "connectionstring", "cookie", "credential", "jwt", "passcode", "passphrase"),
    *("passwd", "password", "pwd", "secret"),
    *(f"{what}key" for what in "access account api encryption private secret session signing subscription".split()),
    *(
        f"{what}token"
        for what in "access ad api auth authorization bearer csrf id refresh sas security session".split()
    ),
)
_NAMES = frozenset(("pass", "session", "sessionid", "sid", "token"))
# Where lists of variables, headers and the like have their names.
_NAMED_BY = ("name", "key")


def is_json(data: bytes) -> bool:
    """Whether this may be an object or a list in JSON."""
    return data.lstrip(BEFORE)[:1] in (b"{", b"[")


def is_secret(name: str, member: object) -> bool:
    """Whether a member, or a field, is named as a credential and may be one: a text, a number, or a list of texts."""
    if isinstance(member, list):
        may_be = bool(member) and all(isinstance(text, str) for text in member)
    else:
        may_be = isinstance(member, (str, int)) and not isinstance(member, bool)
    return may_be and _names_secret(name)


def known_value(value: object) -> object:
    """What may be recorded of a JSON value: the same object if that is all of it."""
    asked = {"requests": value}
    return _without_secrets(without_credentials(asked, encode(asked))["requests"])


def known_json(data: bytes) -> bytes:
    """The same for JSON as it came. Raises ValueError for anything else."""
    if is_too_deep(data):
        return TOO_DEEP
    value = decode(data.lstrip(BEFORE))
    known = known_value(value)
    return data if known is value else encode(known)


def known_text(name: str, text: str) -> str:
    """The same for the text of a field, whose name may be the way to a place in a request, and which may be JSON."""
    steps = [step for step in _STEP.findall(name[:LONGEST_NAME]) if not step.isdigit()]
    if len(name) > LONGEST_NAME or len(steps) > _MOST_STEPS:
        return TOO_DEEP.decode()
    if steps and is_secret(steps[-1], text):
        return MASK
    try:
        value = _value(text)
    except RecursionError:
        return TOO_DEEP.decode()
    told = value
    for step in reversed(steps):
        told = {step: told}
    known = known_value(told)
    for _ in steps:
        # A mask may stand for all that the way leads through.
        known = next(iter(known.values())) if isinstance(known, dict) else known
    if known is value:
        return text
    return known if isinstance(known, str) else encode(known).decode()


def _value(text: str) -> object:
    """The JSON that a text is, or else the text. Raises RecursionError if it is nested too deeply."""
    data = text.encode()
    if not is_json(data):
        return text
    if is_too_deep(data):
        raise RecursionError
    try:
        return decode(data.lstrip(BEFORE))
    except ValueError:
        return text


def _names_secret(name: str) -> bool:
    name = name[-LONGEST_NAME:].lower().translate(_HYPHENS)
    return name in _NAMES or name.removesuffix("s").endswith(_ENDINGS)


def _without_secrets(value: object) -> object:
    """A JSON value with a mask in place of each member that is named as a credential; the same object if none is."""
    if isinstance(value, list):
        items = list(map(_without_secrets, value))
        return items if any(map(is_not, items, value)) else value
    if not isinstance(value, dict):
        return value
    members = {name: MASK if is_secret(name, member) else _without_secrets(member) for name, member in value.items()}
    if "value" in value and any(is_secret(str(value.get(by)), value["value"]) for by in _NAMED_BY):
        members["value"] = MASK
    return members if any(map(is_not, members.values(), value.values())) else value

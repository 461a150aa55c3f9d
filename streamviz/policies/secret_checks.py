"""Checks that tell secrets and personal data from what merely looks like them."""

import re

from stdnum import iban, luhn
from stdnum.us import ssn


def is_card(text: str) -> bool:
    """Whether the checksum is a card's, and the digits are not all the same."""
    digits = "".join(filter(str.isdigit, text))
    return luhn.is_valid(digits) and len(set(digits)) > 1


def is_ipv4(text: str) -> bool:
    return all(int(part) < 256 for part in text.split("."))


def is_ssn(text: str) -> bool:
    return bool(ssn.is_valid(text.replace(" ", "-")))


def is_iban(text: str) -> bool:
    return bool(iban.is_valid(text))


# Only names and placeholders, such as sk-xxxxxxxx, have fewer different characters than this.
_LEAST_KINDS = 9
_LIKE_NAMES = ("sk-", "sv-", "hf_")
_BEFORE = re.compile(r"\A(?:_|\\[nrt])")
_HEX = re.compile(r"[0-9a-f]{32}")


def is_key(text: str) -> bool:
    """Whether it looks random. Class names that begin like a key (sk-fading-circle) and placeholders do not."""
    text = _BEFORE.sub("", text)
    if not text.startswith(_LIKE_NAMES):
        return True
    has_digit = any(map(str.isdigit, text))
    has_capital = any(map(str.isupper, text)) or _HEX.search(text) is not None
    return has_digit and has_capital and len(set(text)) >= _LEAST_KINDS

"""Checks that tell secrets and personal data from what only has their shape."""

import re

from stdnum import iban, luhn
from stdnum.us import ssn


def is_card(text: str) -> bool:
    """Whether its checksum is that of a card, and it is not one digit again and again."""
    digits = "".join(filter(str.isdigit, text))
    return luhn.is_valid(digits) and len(set(digits)) > 1


def is_ipv4(text: str) -> bool:
    return all(int(part) < 256 for part in text.split("."))


def is_ssn(text: str) -> bool:
    return bool(ssn.is_valid(text.replace(" ", "-")))


def is_iban(text: str) -> bool:
    return bool(iban.is_valid(text))


# Fewer kinds of characters than this have only names and made-up keys, such as sk-xxxxxxxx.
_LEAST_KINDS = 9
_LIKE_NAMES = ("sk-", "sv-", "hf_")
_HEX = re.compile(r"[0-9a-f]{32}")


def is_key(text: str) -> bool:
    """Whether it looks drawn at random, where names of classes begin in the same way (sk-fading-circle): they and
    placeholders do not."""
    if not text.startswith(_LIKE_NAMES):
        return True
    has_digit = any(map(str.isdigit, text))
    has_capital = any(map(str.isupper, text)) or _HEX.search(text) is not None
    return has_digit and has_capital and len(set(text)) >= _LEAST_KINDS

"""The shapes of secrets and of personal data."""

from streamviz.policies.finder import Shape
from streamviz.policies.secret_checks import is_card, is_iban, is_ipv4, is_key, is_ssn

# A word's beginning, also behind the mark of emphasis (`_sk-…_`) or an escape in code (`"\nsk-…"`).
_START = r"(?:\b|_|\\[nrt])"
_KEYS = (
    rf"{_START}sk-(?:ant-|proj-|or-v1-|svcacct-)?[A-Za-z0-9_-]{{20,200}}",
    rf"{_START}(?:AKIA|ASIA)[A-Z0-9]{{16}}(?:\b|_)",
    rf"{_START}gh[pousr]_[A-Za-z0-9]{{36,255}}",
    rf"{_START}github_pat_[A-Za-z0-9_]{{22,255}}",
    rf"{_START}glpat-[A-Za-z0-9_-]{{20,100}}",
    rf"{_START}xox[abeoprs]-[A-Za-z0-9-]{{10,250}}",
    rf"{_START}AIza[A-Za-z0-9_-]{{35}}",
    rf"{_START}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,250}}",
    rf"{_START}hf_[A-Za-z0-9]{{30,60}}",
    rf"{_START}npm_[A-Za-z0-9]{{36}}",
    rf"{_START}pypi-[A-Za-z0-9_-]{{50,250}}",
    rf"{_START}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{16,64}}",
    rf"{_START}gsk_[A-Za-z0-9]{{40,60}}",
    rf"{_START}xai-[A-Za-z0-9]{{60,100}}",
    rf"{_START}sv-[A-Za-z0-9_-]{{43}}",
)
_HEX4 = r"[0-9A-Fa-f]{1,4}"

SHAPES: dict[str, list[Shape]] = {
    "api key": [Shape("api key", "|".join(_KEYS), is_key)],
    "private key": [
        Shape(
            "private key",
            r"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----[^-]*"
            r"(?:-----END (?:[A-Z]{2,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----)?",
        )
    ],
    "web token": [Shape("web token", _START + r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}")],
    "e-mail": [Shape("e-mail", r"\b[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?:\b|_)")],
    "card": [Shape("card", r"\b[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}\b|\b3[47]\d{2}[ -]?\d{6}[ -]?\d{5}\b", is_card)],
    "iban": [Shape("iban", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b", is_iban)],
    "ssn": [Shape("ssn", r"\b\d{3}[- ]\d{2}[- ]\d{4}\b", is_ssn)],
    "ip address": [
        Shape("ip address", r"\b(?:\d{1,3}\.){3}\d{1,3}\b", is_ipv4),
        Shape("ip address", rf"\b(?:{_HEX4}:){{7}}{_HEX4}\b|\b(?:{_HEX4}:){{1,6}}(?::{_HEX4}){{1,6}}\b"),
    ],
}

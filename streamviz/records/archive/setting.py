"""The settings of the archive, read from the environment."""

import re

from django.core.exceptions import ImproperlyConfigured

from streamviz import environment
from streamviz.records.rules import Archive

AFTER_DAYS = 3
REGION = "us-east-1"
_URL = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?P<prefix>(/[\w.-]+)*)/?", re.ASCII)
_ENDPOINT = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?/?")


def archive(chunk_days: int) -> Archive | None:
    """Where older chunks are kept, according to ARCHIVE_URL and the related settings; None if there is no such place.
    `chunk_days` is how long chunks are kept in all; 0 is for ever.

    Raises ImproperlyConfigured, without repeating the value, for settings that are malformed or incomplete.
    """
    url = environment.text("ARCHIVE_URL")
    beside = {name: environment.text(f"ARCHIVE_{name}") for name in ("ENDPOINT", "REGION", "KEY_ID", "SECRET")}
    days = environment.days("ARCHIVE_AFTER_DAYS", AFTER_DAYS)
    if not url:
        if alone := next((name for name, value in beside.items() if value), ""):
            raise ImproperlyConfigured(f"ARCHIVE_{alone} is set, but ARCHIVE_URL is not.")
        return None
    if (found := _URL.fullmatch(url)) is None:
        raise ImproperlyConfigured("ARCHIVE_URL must look like s3://BUCKET or s3://BUCKET/PREFIX.")
    _require_sense(beside, days, chunk_days)
    prefix = found["prefix"].strip("/")
    return Archive(
        bucket=found["bucket"],
        prefix=f"{prefix}/" if prefix else "",
        endpoint=beside["ENDPOINT"].rstrip("/"),
        region=beside["REGION"] or REGION,
        after_days=days,
        key_id=beside["KEY_ID"],
        secret=beside["SECRET"],
    )


def _require_sense(beside: dict[str, str], days: int, chunk_days: int) -> None:
    if beside["ENDPOINT"] and not _ENDPOINT.fullmatch(beside["ENDPOINT"]):
        raise ImproperlyConfigured("ARCHIVE_ENDPOINT must look like https://HOST or http://HOST:9000, without a path.")
    if bool(beside["KEY_ID"]) != bool(beside["SECRET"]):
        raise ImproperlyConfigured("ARCHIVE_KEY_ID and ARCHIVE_SECRET belong together: set both, or neither.")
    if not days or 0 < chunk_days <= days:
        most = f" and less than RETAIN_CHUNK_DAYS, {chunk_days}" if chunk_days else ""
        raise ImproperlyConfigured(f"ARCHIVE_AFTER_DAYS must be 1 or more{most}; it is {days}.")
    if not environment.is_installed("boto3"):
        environment.miss("ARCHIVE_URL", "boto3", "boto3")

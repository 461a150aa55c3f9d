"""A bucket of an object storage that speaks S3's API. Each call blocks: it is for threads, not for the event loop."""

import threading
import time
from functools import cache
from typing import Any

from django.conf import settings

from streamviz.faults import Fault
from streamviz.records.rules import Archive

CONNECT_SECONDS = 3.0
READ_SECONDS = 15.0
ATTEMPTS = 2
# Once it did not answer, everybody is told so at once for so long: a page is not to wait for what is away.
PAUSE_SECONDS = 5.0
_GONE = ("NoSuchKey", "404")
_CUT_OFF = ("InvalidRange", "416")
# What says that the next request would fare no better; other refusals come at once, and are about what was asked for.
_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = 500


class ChunksAway(Fault):
    """Chunks are in the archive, and cannot be read there now; the text says why, without any credential."""


class ObjectAway(ChunksAway):
    """That is so of one object; others may be as they should."""


class ObjectLost(ObjectAway):
    """And it stays so: what there is of it is damaged, or nothing is there."""


class ObjectGone(ObjectLost):
    """There is no such object (any more)."""


class Bucket:
    """Objects by their keys. Raises ChunksAway where the storage does not do what it is asked for."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._client: Any = None
        self._away_until = float("-inf")
        self._why = ""

    def put(self, key: str, data: bytes) -> None:
        """Store an object, and read it back: what is not there as it was given raises ChunksAway."""
        self._call("put_object", Key=self._key(key), Body=data)
        try:
            is_there = self.get(key) == data
        except ObjectAway as error:  # so would any other be
            raise ChunksAway(f"what was stored cannot be read back: {error}") from None
        if not is_there:
            raise ChunksAway("the object storage gives back something else than it was given")

    def get(self, key: str, start: int = 0, size: int | None = None) -> bytes:
        """An object's bytes, or `size` of them from `start` on. Raises ObjectGone where there is none."""
        more = {} if size is None else {"Range": f"bytes={start}-{start + size - 1}"}
        return self._call("get_object", Key=self._key(key), **more)

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        self._call("delete_object", Key=self._key(key))

    def _key(self, key: str) -> str:
        return f"{self._archive.prefix}{key}"

    def _call(self, operation: str, **values: Any) -> bytes:
        """The answer's body, empty where it has none."""
        from botocore.exceptions import BotoCoreError, ClientError
        from urllib3.exceptions import HTTPError

        if time.monotonic() < self._away_until:
            raise ChunksAway(self._why)
        try:
            answer = getattr(self._connected(), operation)(Bucket=self._archive.bucket, **values)
            return answer["Body"].read() if "Body" in answer else b""
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", _SERVER_ERRORS)
            raise self._refused(operation, code, status) from None
        except (BotoCoreError, HTTPError, OSError) as error:
            raise self._is_away(f"does not answer ({type(error).__name__})") from None

    def _refused(self, operation: str, code: str, status: int) -> ChunksAway:
        """What to raise for an answer that is an error."""
        if code in _GONE:
            return ObjectGone("the object storage has lost an object of the archive")
        if code in _CUT_OFF:
            return ObjectLost("an object of the archive is damaged (it is cut off)")
        why = f"refuses: {code or 'no reason given'}"
        if status >= _SERVER_ERRORS or status == _TOO_MANY_REQUESTS:
            return self._is_away(why)
        # Where one cannot be stored, no other one can.
        kind = ChunksAway if operation == "put_object" else ObjectAway
        return kind(f"the object storage {why}")

    def _is_away(self, why: str) -> ChunksAway:
        """What it says itself may hold parts of a signed request, and is not repeated."""
        self._why = f"the object storage {why}"
        self._away_until = time.monotonic() + PAUSE_SECONDS
        return ChunksAway(self._why)

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _client(self._archive)
            return self._client


def _client(archive: Archive) -> Any:
    # It takes a third of a second to import, and most installations have no archive.
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        # Others than Amazon know neither its checksums nor names of buckets as names of hosts.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if archive.endpoint else "auto"},
    )
    # Without a key of its own the session looks where Amazon's tools look: environment, profile, role of the machine.
    session = Session(archive.key_id or None, archive.secret or None, region_name=archive.region)
    return session.client("s3", endpoint_url=archive.endpoint or None, config=config)


@cache
def bucket_of(archive: Archive) -> Bucket:
    """One bucket for all of a process, so that each knows when it is away."""
    return Bucket(archive)


def bucket() -> Bucket:
    """That of the settings. Raises ChunksAway where they name none."""
    if settings.ARCHIVE is None:
        raise ChunksAway("ARCHIVE_URL is not set")
    return bucket_of(settings.ARCHIVE)

"""A bucket of object storage that speaks S3's API. Each call blocks, so it is for threads, not for the event loop."""

import threading
import time
from functools import cache
from typing import Any

from django.conf import settings

from streamviz.faults import Fault
from streamviz.records.archive.time_limit import TimeLimit, limited
from streamviz.records.rules import Archive

CONNECT_SECONDS = 3.0
READ_SECONDS = 15.0
ATTEMPTS = 2
# A whole request, with its second attempt, takes no longer than this, and than a slow line needs for its bytes.
WHOLE_SECONDS = 40.0
SLOWEST_BYTES_A_SECOND = 64 * 1024
# After a failure all callers get an error at once for this long, so that pages do not wait for storage that is away.
PAUSE_SECONDS = 5.0
_GONE = ("NoSuchKey", "404")
_CUT_OFF = ("InvalidRange", "416")
# Statuses that mean the next request would fail as well. Other refusals come at once, and concern only what was
# requested.
_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = 500
_PARTIAL_CONTENT = 206


class ChunksAway(Fault):
    """Chunks are in the archive and cannot be read there now; the text says why, without any credential."""


class ObjectAway(ChunksAway):
    """One object cannot be read; others may be fine."""


class ObjectLost(ObjectAway):
    """One object cannot be read, and never will be: it is damaged or missing."""


class ObjectGone(ObjectLost):
    """There is no such object, or no longer."""


class Bucket:
    """Objects by their keys. Raises ChunksAway if the storage fails to do what is requested."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._client: Any = None
        self._away_until = float("-inf")
        self._why = ""

    def put(self, key: str, data: bytes) -> None:
        """Store an object and read it back; raises ChunksAway if it is not there as it was given."""
        self._call("put_object", Key=self._key(key), Body=data)
        try:
            is_there = self.get(key, 0, len(data)) == data
        except ObjectAway as error:  # any other object would fail too
            raise ChunksAway(f"what was stored cannot be read back: {error}") from None
        if not is_there:
            raise ChunksAway("the object storage gives back something else than it was given")

    def get(self, key: str, start: int, size: int) -> bytes:
        """`size` of an object's bytes from `start` on, or fewer if it is cut off. Raises ObjectGone if there is no such
        object."""
        return self._call("get_object", size, Key=self._key(key), Range=f"bytes={start}-{start + size - 1}")

    def delete(self, key: str) -> None:
        """Delete an object; a missing one is not an error."""
        self._call("delete_object", Key=self._key(key))

    def _key(self, key: str) -> str:
        return f"{self._archive.prefix}{key}"

    def _call(self, operation: str, size: int = 0, **values: Any) -> bytes:
        """The body of the response to a request for `size` bytes, empty if none were asked for."""
        from botocore.exceptions import BotoCoreError, ClientError
        from urllib3.exceptions import HTTPError

        if time.monotonic() < self._away_until:
            raise ChunksAway(self._why)
        seconds = WHOLE_SECONDS + max(size, len(values.get("Body", b""))) / SLOWEST_BYTES_A_SECOND
        try:
            with TimeLimit(seconds):
                answer = getattr(self._connected(), operation)(Bucket=self._archive.bucket, **values)
                return _body(answer, size) if size else b""
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", _SERVER_ERRORS)
            raise self._refused(operation, code, status) from None
        except TimeoutError:
            raise self._is_away(f"takes longer than {seconds:.0f} s") from None
        except (BotoCoreError, HTTPError, OSError) as error:
            raise self._is_away(f"does not answer ({type(error).__name__})") from None

    def _refused(self, operation: str, code: str, status: int) -> ChunksAway:
        """The exception for an error response."""
        if code in _GONE:
            return ObjectGone("the object storage has lost an object of the archive")
        if code in _CUT_OFF:
            return ObjectLost("an object of the archive is damaged (it is cut off)")
        why = f"refuses: {code or 'no reason given'}"
        if status >= _SERVER_ERRORS or status == _TOO_MANY_REQUESTS:
            return self._is_away(why)
        # If one object cannot be stored, no other can.
        kind = ChunksAway if operation == "put_object" else ObjectAway
        return kind(f"the object storage {why}")

    def _is_away(self, why: str) -> ChunksAway:
        """Note that the storage is away. Its own message may hold parts of a signed request, and is not repeated."""
        self._why = f"the object storage {why}"
        self._away_until = time.monotonic() + PAUSE_SECONDS
        return ChunksAway(self._why)

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                self._client = _client(self._archive)
            return self._client


def _body(answer: dict[str, Any], size: int) -> bytes:
    """The body, no more of which is read than its size may be. Raises ObjectAway if it is something else than what was
    asked for: all of an object, or a page of some proxy, which says nothing about the object."""
    data = bytearray()
    for piece in answer["Body"].iter_chunks(size + 1):
        data += piece
        if len(data) > size:
            answer["Body"].close()
            break
    is_part = answer["ResponseMetadata"]["HTTPStatusCode"] == _PARTIAL_CONTENT
    if len(data) > size or (len(data) < size and not is_part):
        raise ObjectAway("the object storage gives other bytes than were asked for")
    return bytes(data)


def _refuse_redirect(response_dict: dict[str, Any] | None, **_: object) -> None:
    """Raise ChunksAway for a redirect. Unless it names a region, as Amazon's do, boto3 would ask for that, be
    redirected again, ask again, and so on until it runs out of stack."""
    if response_dict is None or "x-amz-bucket-region" in response_dict["headers"]:
        return
    if response_dict["status_code"] // 100 == 3:
        raise ChunksAway("the object storage redirects to another address, which is not followed")


def _client(archive: Archive) -> Any:
    # Importing this takes a third of a second, and most installations have no archive.
    from boto3.session import Session
    from botocore.config import Config

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        # Storages other than Amazon's support neither its checksums nor bucket names as host names.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path" if archive.endpoint else "auto"},
    )
    # Without a key, the session looks where Amazon's tools look: environment, profile, role of the machine.
    session = Session(archive.key_id or None, archive.secret or None, region_name=archive.region)
    client = session.client("s3", endpoint_url=archive.endpoint or None, config=config)
    client.meta.events.register("response-received.s3", _refuse_redirect)
    return limited(client)


@cache
def bucket_of(archive: Archive) -> Bucket:
    """One bucket for the whole process, so that all callers know when it is away."""
    return Bucket(archive)


def bucket() -> Bucket:
    """The bucket of the settings. Raises ChunksAway if they name none."""
    if settings.ARCHIVE is None:
        raise ChunksAway("ARCHIVE_URL is not set")
    return bucket_of(settings.ARCHIVE)

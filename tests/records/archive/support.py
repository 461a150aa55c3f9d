"""A storage to look into, and rounds of the archive's upkeep."""

import json
from typing import Any

import psycopg
from boto3.session import Session

from streamviz.records.archive.bucket import Bucket
from streamviz.records.archive.moving import Archiving, Moved
from streamviz.records.archive.packing import unpacked
from streamviz.records.database import conninfo
from streamviz.records.models import ArchivedPart
from streamviz.records.rules import Archive
from tests.records.history import NOW


class Storage:
    """A bucket, seen from outside."""

    def __init__(self, bucket: Bucket, archive: Archive) -> None:
        self.bucket = bucket
        self.archive = archive
        session = Session(archive.key_id, archive.secret, region_name=archive.region)
        self._client: Any = session.client("s3", endpoint_url=archive.endpoint)
        self._client.create_bucket(Bucket=archive.bucket)

    def deny(self, action: str, key: str = "*") -> None:
        """Refuse an action from now on, for one object or for all."""
        name = self.archive.bucket
        of = f"arn:aws:s3:::{name}/{self.archive.prefix}{key}"
        denied = {"Effect": "Deny", "Principal": "*", "Action": f"s3:{action}", "Resource": of}
        policy = {"Version": "2012-10-17", "Statement": [denied]}
        self._client.put_bucket_policy(Bucket=name, Policy=json.dumps(policy))

    def allow(self) -> None:
        """Stop refusing."""
        self._client.delete_bucket_policy(Bucket=self.archive.bucket)

    def objects(self) -> dict[str, bytes]:
        """All objects in it."""
        listed = self._client.list_objects_v2(Bucket=self.archive.bucket).get("Contents", [])
        keys = [each["Key"] for each in listed]
        return {key: self._client.get_object(Bucket=self.archive.bucket, Key=key)["Body"].read() for key in keys}


def archive(bucket: Bucket) -> Moved:
    """Run one round of the upkeep."""
    with psycopg.connect(conninfo(), autocommit=True) as connection:
        return Archiving(connection, bucket).round(NOW.date())


def texts(storage: Storage) -> bytes:
    """All chunks in the storage, whether the index refers to them or not: an object is a sequence of parts."""
    found = b""
    for data in storage.objects().values():
        for piece in data.split(b"\x28\xb5\x2f\xfd")[1:]:
            runs = unpacked(b"\x28\xb5\x2f\xfd" + piece, 2**20)
            found += b"".join(row.payload or b"" for row in runs.upstream)
    return found


def size_in_index() -> int:
    """The number of bytes that the index refers to."""
    return sum(ArchivedPart.objects.values_list("size", flat=True))

"""An object store: moto's server, which speaks S3's API over HTTP."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from streamviz.records.archive.bucket import Bucket, bucket_of
from streamviz.records.rules import Archive
from tests.records.archive.support import Storage
from tests.services import free_port


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The address of the storage."""
    port = free_port()
    server = ThreadedMotoServer("127.0.0.1", port, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def storage(endpoint: str, settings: Settings) -> Storage:
    """A bucket for this test alone, which the settings name."""
    archive = Archive(f"records-{uuid4()}", "chunks/", endpoint, "us-east-1", 3, "AKIDEXAMPLE", "a-secret-of-tests")
    settings.ARCHIVE = archive
    return Storage(bucket_of(archive), archive)


@pytest.fixture
def away(storage: Storage, settings: Settings) -> Bucket:
    """Let the settings name a storage that does not answer."""
    settings.ARCHIVE = replace(storage.archive, endpoint=f"http://127.0.0.1:{free_port()}")
    return bucket_of(settings.ARCHIVE)

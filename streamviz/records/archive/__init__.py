"""The archive: runs of older streams in object storage, with an index of them in Postgres."""

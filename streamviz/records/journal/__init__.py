"""The journal: what a worker recorded and Postgres does not have yet, in files that outlive the worker.

A worker appends to a folder of its own before anything goes to a client; the writer, a process of its own, reads the
folders of all workers, and removes what it has stored. Bytes that were written are the operating system's: they outlive
`kill -9`. A power cut can take what it had not written out yet, usually the last seconds.
"""

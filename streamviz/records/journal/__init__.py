"""The journal: what a worker recorded and Postgres does not have yet, in files that outlive the worker.

A worker appends to a folder of its own before anything goes to a client. The writer, a separate process, reads the
folders of all workers and removes what it has stored. Data survives `kill -9` once it has been written to the operating
system. A power cut can take what had not reached the disk, usually the last seconds.
"""

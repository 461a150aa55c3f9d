"""Processes that run policies' hooks that may take long: each can be killed without harm to anything else."""

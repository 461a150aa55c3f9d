"""Processes that run hooks of policies that may take long: each can be killed without harm to anything else."""

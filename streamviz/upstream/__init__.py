"""Calls to providers. LiteLLM is imported here and nowhere else."""

"""Processes that judge in the place of a policy what may take long: each can be killed, and hurts nobody then."""

"""Executors, which answer clients' calls: named by a call's route, or in its request."""

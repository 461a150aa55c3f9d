"""The server: its protocols, its processes, and what it answers."""

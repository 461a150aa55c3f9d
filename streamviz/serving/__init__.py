"""What the server is: its protocols, its processes, and what it answers."""

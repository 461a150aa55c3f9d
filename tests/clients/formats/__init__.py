"""The wire formats that the scripted provider speaks, each a way to read a request and to say a turn."""

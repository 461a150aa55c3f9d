"""The wire formats that the scripted provider speaks: each module reads requests and writes turns."""

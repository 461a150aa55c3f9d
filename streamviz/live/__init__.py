"""The live pages: the running streams, the feed of their changes, and the websocket consumers."""

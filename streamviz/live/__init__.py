"""What browsers see while it happens: the streams under way, their feed, and the websocket consumers."""

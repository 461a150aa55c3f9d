"""What programs read from streamviz itself: a stream's events."""

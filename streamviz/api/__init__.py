"""What programs read of streamviz itself: a stream's events."""

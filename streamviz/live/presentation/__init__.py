"""What is shown of streams: view models made from a running stream or from the record, and the drawings of them."""

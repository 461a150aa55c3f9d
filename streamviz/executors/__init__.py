"""What answers a client's call: an executor, named by its route or in the request."""

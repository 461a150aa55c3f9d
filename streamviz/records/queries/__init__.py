"""What pages read from Postgres. Each statement says which index it relies on; none counts over everything."""

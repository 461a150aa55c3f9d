"""What pages read from Postgres. Each statement names the index it relies on; none counts over everything."""

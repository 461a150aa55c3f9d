"""One module per area of the dashboard. Views are functions, named like their URL and their template."""

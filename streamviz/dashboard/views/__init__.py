"""One module an area of the dashboard. Views are functions, named as their URL and their template."""

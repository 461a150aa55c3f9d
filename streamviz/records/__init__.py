"""What is kept: models, the recorder and its writer, queries, and the admin of all of it."""

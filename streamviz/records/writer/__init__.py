"""The writer: a process that moves what workers put in their journals into Postgres."""

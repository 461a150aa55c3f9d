"""The pages: what people see of streams, sessions, policies and keys, and what they may do with them."""

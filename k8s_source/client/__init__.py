"""The client: how to reach an API server, and requests by resource. Objects stay bytes; kinds decode them."""

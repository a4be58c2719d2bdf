"""Streams: the protocol as state machines without I/O, and the gRPC shell that moves their bytes."""

"""HTTP filters: a file for each, with what it is in a listener and in a route."""

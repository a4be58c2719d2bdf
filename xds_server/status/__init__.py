"""What became of it: per node what was sent, accepted and refused, and the events of all that."""

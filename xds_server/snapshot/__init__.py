"""Snapshots: the immutable, self-consistent, versioned sets of resources that a group is served."""

"""Metrics and logs: what a running Tidegate tells about itself. Imports nothing of the rest."""

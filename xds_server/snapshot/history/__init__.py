"""What was served, on disk: segments of snapshots, read back at the start as the last known good."""

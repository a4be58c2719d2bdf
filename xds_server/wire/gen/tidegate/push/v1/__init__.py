"""Generated from `proto/`; see `proto/README.md`."""

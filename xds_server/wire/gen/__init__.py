"""What protoc makes of `proto/`; not edited by hand (`make docs` writes it anew)."""

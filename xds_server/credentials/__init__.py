"""Certificates and tokens from files, exchanged while all runs: for every server that listens."""

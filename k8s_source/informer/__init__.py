"""Informers: what an API server has of a kind, kept up to date, for any number of readers."""

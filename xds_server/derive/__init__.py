"""Derivation: collections that are made of others, and the way of gateways through them. Pure."""

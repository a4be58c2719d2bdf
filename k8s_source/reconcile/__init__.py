"""Reconcilers: the effects that objects have on the API server, made true again and again. Only the leader writes."""

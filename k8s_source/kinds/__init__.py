"""Kinds: Kubernetes-style manifests as typed, frozen objects, and what is said of those that do not fit."""

"""Kubernetes Events (`events.k8s.io/v1`): what happened to an object, for those who `kubectl describe` it."""

"""Work: a keyed queue, and controllers that call a function for each key. Knows nothing of Kubernetes or gateways."""

"""CustomResourceDefinitions, made of the typed kinds. Pure."""

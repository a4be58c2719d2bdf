"""Tidegate's control plane: sources in, versioned xDS out, what every Envoy made of it back."""

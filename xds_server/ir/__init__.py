"""The model: frozen values that every layer shares. Nothing here does I/O or knows Envoy."""

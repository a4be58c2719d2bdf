"""From typed objects to the model: a file per kind. Pure; nothing here knows Envoy."""

"""From declared objects to xDS resources: pure, the only place (with wire) that knows Envoy's messages."""

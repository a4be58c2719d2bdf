"""What an API server asks of Tidegate: to convert DynamicGateways between versions, and to judge those that come in."""

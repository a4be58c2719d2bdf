"""Facts from outside (Kafka consumer lag, Prometheus queries) as observations for the derivation."""

"""The lag of Kafka consumer groups: what they have committed, against where the partitions end."""

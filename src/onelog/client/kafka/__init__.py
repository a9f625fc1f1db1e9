"""A typed client for Kafka brokers."""

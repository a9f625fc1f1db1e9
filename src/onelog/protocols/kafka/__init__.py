"""The Kafka dialect."""

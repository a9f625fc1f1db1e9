"""Kafka's messages, declared for all versions."""

"""A typed client for TANK brokers."""

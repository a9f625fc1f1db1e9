"""A typed client for FlyMQ brokers."""

"""A typed client for RustLog brokers."""

"""The FlyMQ dialect."""

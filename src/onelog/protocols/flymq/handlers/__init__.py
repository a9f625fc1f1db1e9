"""FlyMQ's requests in the broker's words, a module per family."""

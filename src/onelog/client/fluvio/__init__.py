"""A typed client of Fluvio: a cluster of its own or this broker."""

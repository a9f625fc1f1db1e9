"""TANK's requests, each a call of the broker."""

"""Sockets: listens, tells dialects apart, moves bytes; knows no dialect."""

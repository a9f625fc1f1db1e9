"""Typed clients on the dialects' own codecs."""

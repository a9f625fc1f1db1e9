"""Bytes in, values out: no meaning, no dialect, no files."""

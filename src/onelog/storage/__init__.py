"""Crash-safe files: segments, their logs, and the catalog. Plain functions; no await."""

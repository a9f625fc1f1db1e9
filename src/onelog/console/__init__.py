"""The HTTP side: health and metrics."""

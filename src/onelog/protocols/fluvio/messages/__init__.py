"""Fluvio's messages, by family. Most are declared; what depends on the data is written by hand."""

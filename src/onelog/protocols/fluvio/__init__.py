"""Fluvio: records and offsets on the SPU, topics on the controller."""

"""Fluvio: a controller that tells what there is, and a unit that holds the records; two ports, one process."""

"""TANK: sequences instead of offsets, bundles instead of batches, and the server speaks first."""

"""What Fluvio's requests mean, by family."""

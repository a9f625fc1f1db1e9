"""What the product means: topics, positions, producing and fetching, in no dialect's words."""

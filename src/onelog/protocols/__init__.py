"""Foreign languages: each dialect translates bytes to calls of the broker, and decides nothing."""

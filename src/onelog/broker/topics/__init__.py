"""Topics: created, altered, deleted; state, rows, service."""

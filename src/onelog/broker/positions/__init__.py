"""How far each group has read, in all dialects; state, rows, service."""

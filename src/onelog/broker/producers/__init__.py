"""Producer ids: handed out once; state, rows, service."""

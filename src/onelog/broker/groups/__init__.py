"""Who reads together: groups with members, generations and leaders; state, rows, service."""

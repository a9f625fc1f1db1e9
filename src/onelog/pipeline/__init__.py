"""Flows: topics to tables, checked, exactly once, and proved."""

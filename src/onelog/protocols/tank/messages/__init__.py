"""TANK's messages, declared or written by hand where a layout depends on itself."""

"""The RustLog dialect."""

"""RustLog's requests in the broker's words, and its answers in RustLog's, in both forms."""

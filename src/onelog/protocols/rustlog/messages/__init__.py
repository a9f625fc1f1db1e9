"""What RustLog's peers say to each other: a module for what is said in JSON, one for the binary form."""

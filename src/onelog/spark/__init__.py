"""The Spark data source and sink named onelog."""

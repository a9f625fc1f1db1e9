"""What a record is: batches, their bytes, and their columns."""

"""Files to ids on disk to batches."""

"""What has been planned and what is done, on disk."""

"""Which inputs make a test set stronger, and which of them it can do without."""

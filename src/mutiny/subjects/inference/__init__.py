"""A model on a data set: forward passes in batches, and what can be known about them."""

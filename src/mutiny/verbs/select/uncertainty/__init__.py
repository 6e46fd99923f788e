"""Methods that ask how unsure the model is of its answer."""

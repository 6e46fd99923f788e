"""Methods that measure how uncertain the model is about its answer."""

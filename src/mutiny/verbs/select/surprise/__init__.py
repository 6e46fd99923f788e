"""Methods that prefer inputs whose activations differ from those of the training data (surprise adequacy)."""

"""Methods that prefer inputs with neuron states that are not covered yet (neuron coverage criteria)."""

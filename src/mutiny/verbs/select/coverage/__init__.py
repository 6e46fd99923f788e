"""Methods that prefer inputs which bring neurons into states not seen yet."""

"""How robust is the model really? Attacks on the model together with its mutants."""

"""`attack`: adversarial attacks on a model alone and together with its mutants."""

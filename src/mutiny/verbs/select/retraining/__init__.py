"""How much a model gains when the inputs that a method selects are labeled and trained on."""

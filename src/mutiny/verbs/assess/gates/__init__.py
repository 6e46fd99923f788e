"""Gates: conditions on metrics, such as ``accuracy >= 0.97``, and what they let through."""

"""Operators that change the structure of a trained model."""

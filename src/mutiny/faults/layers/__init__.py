"""Operators that edit the structure."""

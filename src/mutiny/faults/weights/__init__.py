"""Operators that edit weights and neurons."""

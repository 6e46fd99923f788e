"""Operators that change weights."""

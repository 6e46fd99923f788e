"""Operators that change the signals of neurons."""

"""Faults at every step of a small campaign, one after the other: the n-th store call, statement, system call, forward pass."""

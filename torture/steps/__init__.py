"""Faults at every step of a small campaign: each store call, statement, system call and forward pass in turn."""

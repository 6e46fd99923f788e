"""Operators that change what neurons pass on."""

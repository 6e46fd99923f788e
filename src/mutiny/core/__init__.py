"""Foundations of all parts: errors, records, results, random numbers, checks, statistics."""

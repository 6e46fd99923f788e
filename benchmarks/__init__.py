"""Benchmarks: each prints ratios to a baseline measured in the same run."""

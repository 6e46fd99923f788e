"""Studies: each reproduces a table of a paper on real data."""

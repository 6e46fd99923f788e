"""MUFF's experiments (Kim et al.: Muff, stable and sensitive post-training mutation testing), repeated with mutiny.

python -m studies.muff [--quick] [--data DIR] [--out DIR] [--subjects mnist,eyes] [--parts rq1,rq2] [--originals 20]

Numbers are kept as CSV in OUT/muff, one row as soon as it is known; what is there is not computed again. OUT/muff.md is
written from these files alone, with ``--parts page`` without computing anything.
"""

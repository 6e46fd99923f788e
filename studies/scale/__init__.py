"""How campaigns grow: measured costs of a job, and from them simulated campaigns on many workers.

python -m studies.scale [--measure [assessment|searches|engines]] [--data DIR] [--out DIR]

Without ``--measure`` the costs are those of the last measurement, kept beside the page's figure.
"""

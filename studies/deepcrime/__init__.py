"""MUFF's comparison with DeepCrime (Kim et al.: Tables VI to VIII, Fig. 4), repeated with mutiny.

python -m studies.deepcrime [--quick] [--data DIR] [--out DIR] [--subjects mnist,eyes]
                            [--parts operators,spectra,controls] [--originals 20]

Numbers are kept as CSV in OUT/deepcrime, one row as soon as it is known; what is there is not computed again. Trained
networks are kept in the cache folder of mutiny, in a folder of their own for every OUT, so that what an operator costs
does not depend on what was run elsewhere. OUT/deepcrime.md is written from the CSV files alone, with ``--parts page``
without computing anything.
"""

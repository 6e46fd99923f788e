"""The notice rate, examined: does the number that `mutiny.assess` answers with support a decision?

python -m studies.notice [--quick] [--data DIR] [--out DIR] [--subjects digits,mnist] [--parts faults] [--draws 100]

Faults are found once for each original, with the code of `assess`, and kept with the answers they change on many inputs
(in mutiny's cache folder); nearly all questions are then answered by drawing originals and test sets from these tables.
Numbers are kept as CSV in OUT/notice, one row as soon as it is known; what is there is not computed again. The page
OUT/notice.md is written from these files alone, with ``--parts page`` without computing anything.
"""

"""Forward passes of a model over a data set, and facts about its outputs."""

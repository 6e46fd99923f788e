"""A structure-aware fuzzer: mutated stores, results, data files, commands and gates get an answer or a sentence."""

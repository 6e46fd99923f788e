"""A structure-aware fuzzer: mutated stores, results, data files and command lines get an answer or a sentence."""

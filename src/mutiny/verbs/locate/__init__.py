"""Which neurons are to blame?"""

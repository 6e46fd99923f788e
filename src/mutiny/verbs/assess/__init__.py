"""Mutation testing: would the test set notice if the network went wrong?"""

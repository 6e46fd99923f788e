"""Can the guilty be mended?"""

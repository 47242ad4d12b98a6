"""Scripts that an environment's own interpreter runs; the last line of each is its report in JSON.

They run as files of their own, with nothing of Rekindle's on their path.
"""

"""Scripts that an environment's own interpreter runs after it was built; each prints one line of JSON.

They run as files of their own, with nothing of Rekindle's on their path.
"""

"""One hash-pinned lock for each build and Python; scripts/make_locks.py writes them."""

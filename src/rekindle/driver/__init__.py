"""Starts, watches and ends one run of a job on a host."""

"""Builds the locked environments on a host.

It runs on the host, before any environment exists there: the standard library is all it may import.
"""

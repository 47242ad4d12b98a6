"""Rekindle: a leased GPU host back to a working, proven NVIDIA FLARE environment."""

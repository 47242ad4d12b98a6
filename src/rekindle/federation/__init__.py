"""Federations over hosts: their certificates, and which host is what in a job."""

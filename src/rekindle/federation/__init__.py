"""Jobs over the hosts of a federation."""

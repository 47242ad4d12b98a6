"""The end of a lease: what is worth keeping, packed on the host and checked at home; the removal there."""

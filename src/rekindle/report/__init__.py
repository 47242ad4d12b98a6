"""Results as the answer, pages, results.json and junit.xml; and what ``--check`` ends with."""

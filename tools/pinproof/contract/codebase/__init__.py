"""The tree under check as Python modules."""

"""Patches kept as files: parse, lint, judge, apply, revert and export them."""

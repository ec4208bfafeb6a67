"""A callee's contract over time: what each release's library declares, and what its callers pass."""

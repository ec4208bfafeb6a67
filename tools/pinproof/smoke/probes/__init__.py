"""The probes that are shipped, one folder each. Children import below here: this file imports nothing."""

"""A static site of what is known: verdicts, findings, contracts over time, evidence and their age."""

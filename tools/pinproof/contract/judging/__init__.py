"""Whether a call fits what it was followed to, and what keeps a failing one from running."""

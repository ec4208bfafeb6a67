"""What runs under the user's interpreter: torch, vLLM and the standard library only, nothing of pinproof.

The parent makes this folder importable as `pinproof_smoke`, so that no module here can hide one of vLLM's.
"""

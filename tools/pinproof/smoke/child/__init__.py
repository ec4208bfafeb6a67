"""What runs under the user's interpreter: torch, vLLM and the standard library only, nothing of pinproof.

The parent makes the folder above importable as `pinproof_smoke`, so that no module here can hide one of
vLLM's; what a probe runs there lies in its own `child` folder and uses `report` of this one.
"""

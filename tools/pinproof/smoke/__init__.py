"""The smoke gate: prove a patch at run time, as far as the machine in hand allows."""

"""The contract gate: every call an engine makes into the libraries it pins, bound to their signatures."""

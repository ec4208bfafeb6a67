"""The gates that prove a patched tree is fit for vLLM's own CI: it compiles, and its hooks pass."""

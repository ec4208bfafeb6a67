"""pinproof: prove small vLLM patches against the kernel libraries that vLLM pins."""

__version__ = "0.1.0"

"""Probe: the launch of vLLM's fused MoE Triton kernel."""

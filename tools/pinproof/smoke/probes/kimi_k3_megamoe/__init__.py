"""Probe: the Kimi-K3 MegaMoE experts and DeepGEMM's fused kernel."""

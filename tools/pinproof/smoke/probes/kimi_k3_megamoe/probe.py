"""The definition of this probe."""

from pinproof.smoke.probe import CallSite, Probe
from pinproof.smoke.probes.kimi_k3_megamoe import rungs, verdicts

_SHARED = "vllm/model_executor/layers/fused_moe/deep_gemm_mega_moe.py"

PROBE = Probe(
    name="kimi_k3_megamoe",
    about="Kimi-K3's MegaMoE experts: what the forward passes to DeepGEMM's fused MXFP4 kernel with SiTU",
    calls=(
        # vLLM 0.27 to 0.31
        CallSite(rungs.MODEL, "KimiK3MegaMoEExperts.forward", "fp8_fp4_mega_moe"),
        # from 0.32 on: one class for all models; the keywords are collected in a dict
        CallSite(_SHARED, "DeepGemmMegaMoEExperts.forward", "fp8_fp4_mega_moe"),
        CallSite(_SHARED, "MegaMoEActivation.kernel_kwargs", "the keywords of fp8_fp4_mega_moe"),
    ),
    rungs={
        "bind": rungs.run_bind,
        "compile": rungs.run_compile,
        "kernel": rungs.run_kernel,
        "model": rungs.run_model,
    },
    imports=("torch", "vllm.models.kimi_k3.nvidia.model"),
    numerics_on=verdicts.SM100,
)

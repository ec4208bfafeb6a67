"""Rung model: a tiny random Kimi model through the real vllm.LLM, eager, a few greedy tokens, twice."""

from __future__ import annotations

import hashlib
import json
import math
import time
from pathlib import Path
from typing import Any

from ....child.report import Job, run, say, step

PROMPT = [1, 17, 301, 44, 5, 260, 99, 412, 7, 63, 128, 3]
NEW_TOKENS = 8


def arguments(job: Job, capability: tuple[int, int], folder: Path) -> dict[str, Any]:
    """How the engine is started: small, eager, and with the MegaMoE backend where the GPU has its kernel."""
    from . import tiny

    mega = capability[0] == 10
    options: dict[str, Any] = {
        "model": str(folder), "skip_tokenizer_init": True, "enforce_eager": True, "dtype": "bfloat16",
        "seed": 0, "max_model_len": 128, "max_num_seqs": 2, "max_num_batched_tokens": 256,
        "kv_cache_memory_bytes": 1 << 28, "gpu_memory_utilization": 0.2, "enable_prefix_caching": False,
        "disable_log_stats": True, "tensor_parallel_size": int(job["nproc"]),
        "enable_expert_parallel": mega or int(job["nproc"]) > 1,
        "logprobs_mode": "raw_logits", "max_logprobs": tiny.VOCABULARY,
    }  # fmt: skip
    if mega:
        options["moe_backend"] = "deep_gemm_mega_moe"
    return options


def generate(llm: Any) -> tuple[list[int], list[list[float]]]:
    """Greedy tokens and, for each, the logits of the whole vocabulary."""
    from vllm import SamplingParams

    from . import tiny

    sampling = SamplingParams(
        temperature=0.0, max_tokens=NEW_TOKENS, ignore_eos=True, logprobs=tiny.VOCABULARY, detokenize=False
    )
    (result,) = llm.generate([{"prompt_token_ids": PROMPT}], sampling, use_tqdm=False)
    output = result.outputs[0]
    logits = [[float(step[token].logprob) for token in range(tiny.VOCABULARY)] for step in output.logprobs]
    return list(output.token_ids), logits


def main(job: Job) -> None:
    """Write the model, start the engine, generate twice, report the logits."""
    start = time.monotonic()
    with step("importing torch and vllm"):
        import torch
        from vllm import LLM

        from . import tiny
    if torch.cuda.device_count() < int(job["nproc"]):
        say("no cuda", reason=f"{job['nproc']} GPUs asked for, {torch.cuda.device_count()} found")
        return
    folder = Path(job["work"]) / "model"
    capability = torch.cuda.get_device_capability()
    with step("writing the model"):
        tiny.write(folder, mxfp4=capability[0] == 10)
    options = arguments(job, capability, folder)
    with step("starting the engine"):
        llm = LLM(**options)
    with step("first forward"):
        tokens, logits = generate(llm)
    with step("second forward"):
        again, logits_again = generate(llm)
    say(
        "generated",
        tokens=tokens,
        deterministic=tokens == again and logits == logits_again,
        finite=all(math.isfinite(value) for row in logits for value in row),
        logits=logits,
        digest=hashlib.sha256(json.dumps(logits).encode()).hexdigest(),
        backend=options.get("moe_backend", "auto"),
        seconds=round(time.monotonic() - start, 1),
    )


if __name__ == "__main__":
    run(main)

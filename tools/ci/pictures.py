"""Make the pictures of the README and the docs from what the program really does.

    python tools/ci/pictures.py [NAME...]     terminal, history, architecture; all of them by default

terminal: the commands below, run in an empty folder on a terminal, with what they print.
history: `pinproof history deep_gemm.fp8_fp4_mega_moe`. architecture: who imports whom, read from the source.
Needs the package index (40 MB the first time) for the first two.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

REPO = Path(__file__).resolve().parents[2]
IMAGES = REPO / "docs/images"
COLUMNS = 104
FIRST = "pinproof fetch vllm==0.28.0 vllm --without 0001"
SHOWN = (
    "pinproof contract vllm --files vllm/models/kimi_k3/nvidia/model.py",
    "pinproof verdict vllm",
    "pinproof apply vllm",
    "pinproof verdict vllm",
)
CALLEE, RELEASES = "deep_gemm.fp8_fp4_mega_moe", "0.26.0..0.33.0"
_THEME = TerminalTheme(
    (17, 22, 29), (230, 235, 242),
    [(17, 22, 29), (255, 125, 118), (127, 219, 166), (245, 192, 99), (134, 189, 255), (214, 160, 255),
     (95, 209, 195), (200, 208, 218)],
)  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Make the pictures named, or all."""
    makers = {"terminal": terminal, "history": history, "architecture": architecture}
    unknown = [name for name in arguments if name not in makers]
    if unknown:
        print(f"no picture {unknown[0]!r}; one of {', '.join(makers)}", file=sys.stderr)
        return 2
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in arguments or makers:
        (IMAGES / f"{name}.svg").write_text(makers[name](), encoding="utf-8")
        print(f"docs/images/{name}.svg")
    return 0


def terminal() -> str:
    """What the commands print, as SVG."""
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    with tempfile.TemporaryDirectory() as folder:
        printed(FIRST, Path(folder))
        for number, command in enumerate(SHOWN):
            if number:
                console.print()
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text.from_ansi(printed(command, Path(folder))))
    return without_fonts(console.export_svg(title="pinproof", theme=_THEME, unique_id="pinproof"))


def printed(command: str, folder: Path) -> str:
    """What a command prints on a terminal of COLUMNS columns, without the progress bars."""
    program = Path(sys.executable).with_name("pinproof")
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    environment["PATH"] = f"{program.parent}{os.pathsep}{environment.get('PATH', '')}"
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command.split(), cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
        env=environment,
    ) as _:  # fmt: skip
        os.close(theirs)
        chunks = []
        while chunk := _read(ours):
            chunks.append(chunk)
        os.close(ours)
    return b"".join(chunks).decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # Linux says EIO where the other end has closed
        return b""


def without_fonts(svg: str) -> str:
    """The drawing without the fonts that rich would load from a server: the reader's own do as well."""
    svg = svg.replace("<!-- Generated with Rich https://www.textualize.io -->", "")
    svg = re.sub(r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono")


def history() -> str:
    """The chart of the callee that patch 0001 is about."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "history.svg"
        program = str(Path(sys.executable).with_name("pinproof"))
        subprocess.run(
            [program, "history", CALLEE, "--releases", RELEASES, "--svg", str(target)],
            cwd=REPO, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        return target.read_text("utf-8")


def architecture() -> str:
    """Who imports whom."""
    script = Path(__file__).with_name("architecture.py")
    return subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Runtime patches: what they replace, whether it is there, whether it has changed."""

# ruff: noqa: E501 - a small module reads best on one line

from __future__ import annotations

from pathlib import Path

import pytest
from pinproof.seams.targets import patches

from tests.seams.plugin import seams, told, world

ENGINE = {
    "core.py": "def pick(a, b=1):\n    return a\n\n\ndef use():\n    return pick(1, b=2)\n",
    "sched.py": "class Scheduler:\n    def step(self, n):\n        return n\n\n    def go(self):\n        return self.step(n=1)\n",
    "api.py": "from vllm.core import pick\nfrom vllm.sched import Scheduler\n",
}


def found(tmp_path: Path, text: str) -> list[tuple[int, str, str]]:
    return [
        (p.patch.line, p.patch.target, p.patch.how) for p in patches(world(tmp_path, {"a.py": text}, ENGINE))
    ]


@pytest.mark.parametrize(
    ("text", "target", "how"),
    [
        ("import vllm.core\nvllm.core.pick = f\n", "vllm.core.pick", "assign"),
        ("from vllm import core as c\nc.pick = f\n", "vllm.core.pick", "assign"),
        ("from vllm.api import Scheduler\nScheduler.step = f\n", "vllm.sched.Scheduler.step", "assign"),
        ("from vllm.sched import Scheduler as S\nsetattr(S, 'step', f)\n", "vllm.sched.Scheduler.step", "setattr"),
        ("import importlib\nm = importlib.import_module('vllm.core')\nm.pick = f\n", "vllm.core.pick", "assign"),
        ("import sys\nsys.modules['vllm.core'].pick = f\n", "vllm.core.pick", "assign"),
        ("import sys\nsys.modules['vllm.core'] = f\n", "vllm.core", "module"),
        ("from vllm.sched import Scheduler\nextend_enum(Scheduler, 'NEW', 1)\n", "vllm.sched.Scheduler.NEW", "enum"),
        ("from vllm.sched import Scheduler\ndel Scheduler.step\n", "vllm.sched.Scheduler.step", "delete"),
        ("def patch(cls):\n    cls.step = f\nfrom vllm.sched import Scheduler\npatch(Scheduler)\n", "vllm.sched.Scheduler.step", "assign"),
        ("from vllm import core, api\nfor m in (core,):\n    m.pick = f\n", "vllm.core.pick", "assign"),
        ("NAME = 'pi' + 'ck'\nfrom vllm import core\nsetattr(core, NAME, f)\n", "vllm.core.pick", "setattr"),
    ],
)  # fmt: skip
def test_every_way_to_patch_is_seen(tmp_path: Path, text: str, target: str, how: str) -> None:
    assert [(t, h) for _, t, h in found(tmp_path, text)] == [(target, how)]


def test_a_helper_of_another_file_that_puts_a_module_there_is_followed(tmp_path: Path) -> None:
    files = {
        "load.py": "import sys\n\n\ndef alias(name, module):\n    sys.modules[name] = module\n    sys.modules.setdefault(name, module)\n",
        "a.py": "from plug.load import alias\nNAME = 'vllm.new'\nalias(NAME, None)\n",
    }
    placed = patches(world(tmp_path, files, ENGINE))
    assert [(p.patch.line, p.patch.target, p.patch.how) for p in placed] == [
        (5, "vllm.new", "module"), (6, "vllm.new", "module")
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.cuda.stream = f\n",
        "from vllm.sched import Scheduler\ns = Scheduler()\ns.step = f\n",
        "class Mine:\n    def __init__(self):\n        self.step = 1\n",
        "import vllm.core\nx = vllm.core.pick\n",
    ],
    ids=["another-library", "an-object", "self", "a-read"],
)
def test_what_changes_nothing_of_the_engine_is_no_patch(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


GONE = {
    **ENGINE,
    "core.py": "def use():\n    return 1\n",
    "api.py": "",
    "new.py": "def pick(a, b=1):\n    return a\n",
}
HELPER = "from vllm import __version__\nfrom packaging.version import Version\n\n\ndef version_is(text):\n    return Version(__version__) == Version(text)\n"


def test_a_target_that_is_gone_is_named_with_where_it_is_now(tmp_path: Path) -> None:
    text = "import vllm.core\n\n\ndef f(a, b=1): ...\n\n\nvllm.core.pick = f\n"
    (seam,) = seams(tmp_path, {"a.py": text}, ENGINE, GONE).found
    assert (seam.code, seam.line, seam.guard, seam.after) == ("KC401", 7, None, "vllm.new")


@pytest.mark.parametrize(
    ("test", "guarded"),
    [
        ("version_is('1.0')", True), ("not version_is('2.0')", True), ("version_is('2.0')", False),
        ("anything()", False), ("hasattr(vllm.core, 'pick')", True),
        ("Version(vllm.__version__) < Version('2.0')", True), ("vllm.__version__.split('+')[0] == '1.0'", True),
        ("Version(vllm.__version__).release[:2] in ((1, 0), (1, 1))", True),
        ("version_is('1.0') or anything()", False), ("version_is('1.0') and anything()", True),
    ],
)  # fmt: skip
def test_tests_are_answered_for_the_version_in_question(tmp_path: Path, test: str, guarded: bool) -> None:
    text = f"from packaging.version import Version\nimport vllm.core\nfrom plug.utils import version_is\nif {test}:\n    vllm.core.pick = print\n"
    found = seams(tmp_path, {"a.py": text, "utils.py": HELPER}, ENGINE, GONE).found
    assert [(seam.code, seam.guard is not None) for seam in found] == [("KC401", guarded)]


def test_an_early_return_guards_what_follows(tmp_path: Path) -> None:
    text = "import vllm.core\nfrom plug.utils import version_is\n\n\ndef patch():\n    if not version_is('1.0'):\n        return\n    vllm.core.pick = print\n"
    (seam,) = seams(tmp_path, {"a.py": text, "utils.py": HELPER}, ENGINE, GONE).found
    assert seam.guard == "not (not version_is('1.0'))"


def test_a_body_that_changed_is_to_be_read_again_and_comments_do_not_count(tmp_path: Path) -> None:
    text = (
        "import vllm.core\nfrom vllm.sched import Scheduler\nvllm.core.pick = print\nScheduler.step = print\n"
    )
    later = {
        **ENGINE,
        "core.py": 'def pick(a, b=1):\n    """New words."""\n    # more\n    return a\n\n\ndef use():\n    return pick(1, b=2)\n',
        "sched.py": ENGINE["sched.py"].replace(
            "        return n\n\n", "        n += 1\n        return n\n\n"
        ),
    }
    (seam,) = seams(tmp_path, {"a.py": text}, ENGINE, later).found
    assert (seam.code, seam.level, seam.line, seam.diff) == ("KC403", "review", 4, ("+    n += 1",))


def test_a_patch_that_the_engine_has_taken_over_is_said_to_be_in(tmp_path: Path) -> None:
    text = "import vllm.core\n\n\ndef mine(a, b=1):\n    return b\n\n\nvllm.core.pick = mine\n"
    later = {**ENGINE, "core.py": ENGINE["core.py"].replace("    return a\n", "    return b\n")}
    assert told(seams(tmp_path, {"a.py": text}, ENGINE, later)) == [("KC404", 8)]


def test_a_replacement_must_take_what_the_engine_passes(tmp_path: Path) -> None:
    text = "import vllm.core\nfrom vllm.sched import Scheduler\n\n\ndef mine(a): ...\n\n\ndef step(self, m): ...\n\n\nvllm.core.pick = mine\nScheduler.step = step\n"
    assert told(seams(tmp_path, {"a.py": text}, ENGINE)) == [("KC402", 11), ("KC402", 12)]


def test_two_patches_of_one_target_are_noted_unless_one_puts_it_back(tmp_path: Path) -> None:
    files = {
        "a.py": "import vllm.core\ndef f(a, b=1): ...\nvllm.core.pick = f\n",
        "b.py": "import vllm.core\ndef g(a, b=1): ...\nold = vllm.core.pick\nvllm.core.pick = g\nvllm.core.pick = old\n",
    }
    found = seams(tmp_path, files, ENGINE)
    assert (told(found), found.failing) == ([("KC405", 4)], [])


ANCHORED = """\
def patch(root):
    path = root + "/core.py"
    with open(path) as stream:
        content = stream.read()
    old = (
        "def pick(a, b=1):\\n"
        "    return a\\n"
    )
    new = "def pick(a, b=1):\\n    return b\\n"
    content = content.replace(old, new, 1)
"""


@pytest.mark.parametrize(
    ("body", "codes"),
    [("    return a\n", []), ("    return a + 1\n", [("KC406", 10)]), ("    return b\n", [("KC404", 10)])],
    ids=["there", "gone", "already-in"],
)
def test_a_text_anchor_is_looked_for_in_the_engine_s_file(
    tmp_path: Path, body: str, codes: list[tuple[str, int]]
) -> None:
    files = {"a.py": ANCHORED.replace('root + "/core.py"', '"core.py"')}
    engine = {"core.py": f"def pick(a, b=1):\n{body}"}
    assert told(seams(tmp_path, files, engine)) == codes


def test_what_was_looked_at_is_counted(tmp_path: Path) -> None:
    counts = seams(tmp_path, {"a.py": "import vllm.core\nvllm.core.pick = print\n"}, ENGINE).counts
    assert (counts.files, counts.patches, counts.targets) == (2, 1, 1)


def test_a_file_of_another_package_is_no_anchor(tmp_path: Path) -> None:
    files = {"a.py": ANCHORED.replace('root + "/core.py"', '"srt/utils/common.py"')}
    assert seams(tmp_path, files, ENGINE).counts.anchors == 0

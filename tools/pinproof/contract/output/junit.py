"""A contract run as JUnit XML, for Jenkins, GitLab and whatever else reads it.

A test case a finding, a passing one for each library whose calls all fit, and a skipped one for each
that was not checked: nothing skipped is shown as passed. The format has no standard; the elements and
attributes are those of https://github.com/testmoapp/junitxml.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence

from pinproof.contract.model import Report
from pinproof.contract.output.findings import Finding

# XML 1.0 allows no other control characters, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(report: Report, found: Sequence[Finding]) -> str:
    """The XML document."""
    suite = ET.Element("testsuite", name=_text(f"kernel-contract {report.tree}"))
    bound = Counter(call.library for call in report.bound)
    failing = Counter(finding.library for finding in found if not finding.guard)
    for finding in found:
        _case(suite, finding)
    for library in sorted(set(bound) - set(failing)):
        ET.SubElement(suite, "testcase", classname=_text(library), name=f"{bound[library]} calls fit")
    for unchecked in report.unchecked:
        case = ET.SubElement(suite, "testcase", classname=_text(unchecked.library), name="not checked")
        ET.SubElement(case, "skipped", message=_text(unchecked.reason))
    counts = {
        "tests": len(suite), "failures": sum(failing.values()), "errors": 0,
        "skipped": sum(case.find("skipped") is not None for case in suite),
    }  # fmt: skip
    suite.attrib.update({name: str(count) for name, count in counts.items()})
    whole = ET.Element("testsuites", {**suite.attrib, "name": "pinproof"})
    whole.append(suite)
    ET.indent(whole)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(whole, encoding="unicode") + "\n"


def _case(suite: ET.Element, finding: Finding) -> None:
    name = _text(f"{finding.file}:{finding.line} {finding.callee}")
    case = ET.SubElement(suite, "testcase", classname=_text(finding.library), name=name)
    case.attrib.update(file=_text(finding.file), line=str(finding.line))
    text = _text(f"{finding.message}; declared in {finding.declared or finding.library}")
    if finding.guard:
        ET.SubElement(case, "skipped", message=_text(f"behind a guard ({finding.guard}): {finding.message}"))
    else:
        ET.SubElement(case, "failure", message=text, type=f"{finding.code} {finding.kind}")


def _text(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)

"""The pages are a book: each is in its summary, and every link leads to a file, and to a heading in it."""

import pathlib
import re
import subprocess

from conftest import ROOT

import setpoint

DOCS = ROOT / "docs"
LINK = re.compile(r"(?<!\!)\[[^\]\[]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def prose(text):
    """A page without its code, in which brackets are no links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page):
    """The names of a page's headings, as the usual hosts and mdBook make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ +(.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def pages():
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    names = tracked.stdout.split() or [str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md")]
    return [ROOT / name for name in names]


def test_every_page_is_in_the_summary():
    listed = re.findall(r"\]\(([^)]+)\)", (DOCS / "SUMMARY.md").read_text())
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"SUMMARY.md"}
    assert sorted(listed) == sorted(there)


def test_every_link_leads_to_a_file_and_a_heading():
    broken = []
    for page in pages():
        for plain, picture in LINK.findall(prose(page.read_text())):
            link = plain or picture
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert not broken


def test_the_index_has_everything_that_is_public():
    text = (DOCS / "api.md").read_text()
    missing = [name for name in setpoint.__all__ if name != "__version__" and f"`{name}" not in text]
    missing += [name for name in setpoint.metrics.__all__ if f"`{name}" not in text]
    assert not missing
    for crate in pathlib.Path(ROOT, "crates").glob("*/Cargo.toml"):
        assert f"`{crate.parent.name}`" in text

"""What the lists say of the code is so: unsafe code, doubled packages, versions that are one."""

import re

import pytest
from conftest import ROOT

import setpoint

tomllib = pytest.importorskip("tomllib")


LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")


def toml(name):
    return tomllib.loads((ROOT / name).read_text())


def test_unsafe_code_is_where_security_says_and_nowhere_else():
    listed = set(re.findall(r"^\| `(crates/[^`]+)` \|", (ROOT / "SECURITY.md").read_text(), re.MULTILINE))
    sources = [path for path in (ROOT / "crates").rglob("*.rs") if "target" not in path.parts]
    allows = {path for path in sources if re.search(r"(allow|expect)\(unsafe_code", path.read_text())}
    assert {str(path.relative_to(ROOT)) for path in allows} == listed
    # A module's attribute counts for what is in its folder.
    within = [path.parent for path in allows if path.name == "mod.rs"]
    blocks = {path for path in sources if re.search(r"\bunsafe (\{|fn|impl|extern)", path.read_text())}
    assert all(path in allows or path.parent in within for path in blocks)


def test_doubled_packages_are_those_that_the_list_excuses():
    versions = {}
    for package in toml("Cargo.lock")["package"]:
        versions.setdefault(package["name"], []).append(package["version"])
    doubled = {name: found for name, found in versions.items() if len(found) > 1}
    skipped = [entry["crate"].split("@") for entry in toml("deny.toml")["bans"]["skip"]]
    for name, found in doubled.items():
        starts = [start for one, start in skipped if one == name]
        excused = [version for version in found if version.startswith(tuple(starts))]
        assert len(excused) >= len(found) - 1, (name, found)
    assert {name for name, _ in skipped} == set(doubled)


def test_all_crates_have_one_version_and_what_a_registry_asks_for():
    workspace = toml("Cargo.toml")["workspace"]
    version = workspace["package"]["version"]
    assert setpoint.__version__ == version == toml("crates/setpoint-burn/Cargo.toml")["package"]["version"]
    own = [entry for name, entry in workspace["dependencies"].items() if name.startswith("setpoint")]
    assert all(entry["version"] == version for entry in own)
    for manifest in (ROOT / "crates").glob("*/Cargo.toml"):
        package = tomllib.loads(manifest.read_text())["package"]
        if package.get("publish", True):
            assert {"description", "keywords", "categories", "readme", "license"} <= set(package), manifest
            assert len(package["keywords"]) <= 5, manifest
            # A package holds nothing from outside its folder but the page.
            texts = [(place / name).read_bytes() for place in (ROOT, manifest.parent) for name in LICENCES]
            assert texts[:2] == texts[2:], manifest
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()

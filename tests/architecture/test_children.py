"""What decodes hostile bytes runs in a child process, and nowhere else: see docs/internals/apart.md."""

from __future__ import annotations

from tests.architecture import source

# Who may import a module of apart/, besides the package itself. Small checks of arguments happen in the server.
IMPORTERS = {
    "bullpen.apart.pool": {"app", "files", "llm", "tools", "operations", "api"},
    "bullpen.apart.schemas": {"tools"},
    "bullpen.apart.pictures": set[str](),
    "bullpen.apart.process": set[str](),
    "bullpen.apart.sentences": set[str](),
    "bullpen.apart.frames": set[str](),
}


def test_only_children_import_what_decodes_pictures() -> None:
    found = {
        module.file
        for module in source.modules().values()
        for name, _ in source.imported_names(module.tree)
        if name.split(".")[0] == "PIL"
    }
    assert found == {"apart/pictures.py"}


def test_the_server_imports_no_program_of_a_child() -> None:
    wrong = [
        f"{name} imports {other}"
        for name in source.modules()
        for other in source.our_imports(name)
        if other in IMPORTERS and source.part_of(name) not in {"apart", *IMPORTERS[other]}
    ]
    assert not wrong, "\n".join(wrong)

"""Define contracts on imports that import-linter does not have; pyproject.toml names them."""

from collections.abc import Iterator

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, output


class PackageImports(Contract):
    """Allow only a module's own package to name it; everybody else imports from the package.

    The modules of the root package itself may be named by everybody. What `from package import
    name` imports is the package's choice, also where a module has the same name.
    """

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        modules = sorted(name for name in graph.modules if not graph.find_children(name))
        deep = [line for module in modules for line in _deep_imports(graph, module)]
        return ContractCheck(kept=not deep, metadata={"deep": deep})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for line in check.metadata["deep"]:
            output.print_error(line)
        output.print_error("Import these names from the package that holds the module.")


def _deep_imports(graph: ImportGraph, module: str) -> Iterator[str]:
    """List the lines that import a module, and not from its package, from outside of it."""
    package = module.rpartition(".")[0]
    if "." not in package:
        return
    for importer in sorted(graph.find_modules_that_directly_import(module)):
        if f"{importer}.".startswith(f"{package}."):
            continue
        for found in graph.get_import_details(importer=importer, imported=module):
            line = found["line_contents"]
            if not line.startswith(f"from {package} import "):
                yield f"{importer}:{found['line_number']}: {line}"

"""`tidegate crds`: the CustomResourceDefinitions, printed."""

from __future__ import annotations

from k8s_source.crds.build import definitions, to_yaml


def print_definitions(*, with_webhook: bool, url: str = "") -> int:
    """Print them as documents of YAML. Gives the exit code."""
    found = definitions(with_webhook=with_webhook, url=url)
    print("# The kinds that Tidegate brings, as `tidegate crds` prints them.")
    print("\n---\n".join(to_yaml(each).rstrip("\n") for each in found))
    return 0

"""Golden cases of gateways: the resources that come of `tests/golden/gateway/CASE/in.yaml`, and what is told of gateways.

`facts.yaml` beside it, where there is one, has the verdicts of routes and the sizes of groups' fleets, and `before.yaml`
what was declared before: the memory is what was decided then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ruamel.yaml import YAML

from k8s_source.to_ir.build import build
from tests.support.golden import CASES, plain, standings_of
from xds_server.derive.engine import Edit, Engine, Input
from xds_server.derive.facts import Facts, Remembered, facts_of
from xds_server.ir.decision import Choice, GatewayReport, RouteReport
from xds_server.ir.facts import RouteKey, Verdict
from xds_server.ir.objects import ObjectKey, Standing
from xds_server.translate.derived import Derived
from xds_server.translate.gateway import derive_gateways
from xds_server.translate.render import to_json
from xds_server.wire.resource import Resource
from xds_server.wire.types import key_of

__all__ = ["CASES", "by_group", "ends_of", "shown"]


def ends_of(case: Path) -> Derived:
    """Derive a case."""
    engine = Engine()
    standings: Input[ObjectKey, Standing] = engine.input("standings")
    model, facts = build(engine, standings), facts_of(engine)
    ends = derive_gateways(engine, model, facts)
    for file in (case / "before.yaml", case / "in.yaml"):
        if not file.exists():
            continue
        found = dict.fromkeys(standings.values) | standings_of(file)
        assert not engine.update(standings.edit(found), *_facts(case, facts)).faults
        decided = {
            key: Remembered(each.choice, each.backend)
            for key, each in ends.decisions.values.items()
            if each.choice in {Choice.PRIMARY, Choice.DEGRADED} and each.backend is not None
        }
        endpoints = {key: each.localities for key, each in model.backends.values.items() if each.localities}
        engine.update(facts.decided.edit(decided), facts.endpoints.edit(endpoints))
    return ends


def by_group(ends: Derived) -> dict[str, list[Resource]]:
    """All resources by group."""
    found: dict[str, list[Resource]] = {}
    for (group, _, _), resource in sorted(ends.resources.values.items()):
        found.setdefault(group, []).append(resource)
    return found


def shown(ends: Derived) -> Mapping[str, object]:
    """What is told of gateways, and the resources with those who made them, without private keys."""
    resources = [
        {
            "group": group,
            "type": key_of(url),
            "origins": plain(resource.origins),
            "resource": to_json(resource),
        }
        for (group, url, _), resource in sorted(ends.resources.values.items())
    ]
    return {"reports": [_report(each) for _, each in sorted(ends.reports.values.items())], "resources": resources}


def _report(report: GatewayReport) -> Mapping[str, object]:
    routes = [_route(each) for each in report.routes]
    problems = {"invalid": plain(report.invalid), "unresolved": plain(report.unresolved)}
    told = {name: each for name, each in problems.items() if each}
    return {"gateway": str(report.key), "group": report.group, "routes": routes, **told}


def _route(each: RouteReport) -> Mapping[str, object]:
    limit = {"max_qps": each.max_qps, "share": each.share} if each.max_qps is not None else {}
    return {"route": str(each.key), "decision": plain(each.decision), **limit}


def _facts(case: Path, facts: Facts) -> tuple[Edit, Edit]:
    file = case / "facts.yaml"
    told = YAML(typ="safe").load(file) if file.exists() else {}
    fleets = {key: value for key, value in told.items() if isinstance(value, int)}
    verdicts = {RouteKey(*key.split("/")): Verdict(value) for key, value in told.items() if key not in fleets}
    return facts.verdicts.edit(verdicts), facts.fleets.edit(fleets)

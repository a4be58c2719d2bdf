"""Takes out of a route configuration what leads to clusters that do not exist, so that the rest can be served."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any as Anything

from xds_server.translate.messages import pack, parse, rewrite
from xds_server.wire.resource import Resource

_ROUTE = "envoy.config.route.v3.Route"
_STATUS = 503


class _Pruning:
    """One pass over a route configuration: what is missing, what was noted, whether a route is left."""

    def __init__(self, missing: AbstractSet[str]) -> None:
        self.missing = missing
        self.notes: list[str] = []
        self.is_any_left = False

    def configuration(self, message: Anything) -> None:
        self.mirrors(message.request_mirror_policies, "route configuration")
        for host in message.virtual_hosts:
            self.virtual_host(host)

    def virtual_host(self, host: Anything) -> None:
        where = f"virtual host {host.name}"
        self.mirrors(host.request_mirror_policies, where)
        for index, route in enumerate(host.routes):
            self.route(route, f"{where}, route {index}{f' ({route.name})' if route.name else ''}")
        if host.HasField("matcher"):
            rewrite(host.matcher, lambda each: self._matched(each, f"{where}, matcher"))

    def _matched(self, message: Anything, where: str) -> None:
        if message.DESCRIPTOR.full_name == _ROUTE:
            self.route(message, where)

    def route(self, route: Anything, where: str) -> None:
        if route.WhichOneof("action") != "route":
            self.is_any_left |= route.WhichOneof("action") is not None
            return
        action = route.route
        gone = self.gone(action, where)
        if gone is None:
            self.mirrors(action.request_mirror_policies, where)
            self.is_any_left = True
            return
        self.notes.append(f"{where}: cluster {gone} is missing, the route answers {_STATUS}")
        route.direct_response.status = _STATUS
        route.direct_response.body.inline_string = f"no-cluster: {gone}"

    def gone(self, action: Anything, where: str) -> str | None:
        """The missing cluster without which the action leads nowhere; None when it still leads somewhere."""
        kind = action.WhichOneof("cluster_specifier")
        if kind == "cluster":
            name: str = action.cluster
            return name if name in self.missing else None
        return self.weighted(action.weighted_clusters, where) if kind == "weighted_clusters" else None

    def weighted(self, weighted: Anything, where: str) -> str | None:
        lost = [each for each in weighted.clusters if each.name in self.missing]
        if not lost:
            return None
        kept = [each for each in weighted.clusters if each.name not in self.missing]
        names = ", ".join(each.name for each in lost)
        if not any(each.weight.value for each in kept):
            return names
        self.notes.append(f"{where}: cluster {names} is missing, its share goes to the others")
        del weighted.clusters[:]
        weighted.clusters.extend(kept)
        weighted.ClearField("total_weight")  # it would have to be the sum of the weights
        return None

    def mirrors(self, policies: Anything, where: str) -> None:
        kept = [each for each in policies if each.cluster not in self.missing]
        if len(kept) == len(policies):
            return
        names = ", ".join(each.cluster for each in policies if each.cluster in self.missing)
        self.notes.append(f"{where}: cluster {names} is missing, nothing is mirrored to it")
        del policies[:]
        policies.extend(kept)


def prune_routes(resource: Resource, missing: AbstractSet[str]) -> tuple[Resource | None, list[str]]:
    """A route configuration without its references to `missing` clusters, and notes for people on what was done.

    A route that leads nowhere else answers 503 with the body `no-cluster: NAME`; of weighted clusters the missing
    ones go while one with a weight is left; mirroring to missing clusters stops. None stands for a configuration
    of which no route would be left that does what it was meant to.
    """
    message = parse(resource.type_url, resource.body)
    if message is None or not resource.refs.clusters & missing:
        return resource, []
    pruning = _Pruning(missing)
    pruning.configuration(message)
    if not pruning.is_any_left:
        return None, pruning.notes
    return pack(message, resource.name, resource.origins), pruning.notes

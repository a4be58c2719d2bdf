"""Makes the way of configuration: sources, pipeline, groups."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from k8s_source.kinds.decode import decode_manifest
from xds_server.app.model import GatewayModel
from xds_server.app.telling import Telling
from xds_server.settings.root import Settings
from xds_server.snapshot.assemble import Assembler
from xds_server.snapshot.draining import Draining
from xds_server.snapshot.feed import Feed
from xds_server.snapshot.groups import Groups
from xds_server.snapshot.pipeline import Coalesce, Pipeline
from xds_server.snapshot.preflight import EnvoyChecker, Preflight
from xds_server.sources.base import Source
from xds_server.sources.files.located import Locating, Locator
from xds_server.sources.push import PushSource
from xds_server.sources.registry import make_sources
from xds_server.status.pushes import PushTies
from xds_server.status.state import State
from xds_server.telemetry.metrics import Metrics
from xds_server.translate.native import decode
from xds_server.translate.prune import prune_routes

if TYPE_CHECKING:
    from k8s_source.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Flow:
    """The way of configuration, from what sources say to the groups that streams are served from."""

    groups: Groups
    pipeline: Pipeline
    sources: list[tuple[Source, Feed]]
    push: PushSource | None
    preflight: Preflight | None
    state: State


def make_flow(settings: Settings, state: State, telling: Telling, cluster: Cluster | None) -> Flow:
    """Make and join sources, pipeline and groups."""
    history, quiet = settings.history, settings.xds.coalesce
    later = asyncio.get_running_loop().call_soon
    groups = Groups(time.time, history.count, later, history.age, prune=prune_routes)
    preflight = _preflight(settings, telling.metrics)
    model = GatewayModel()
    model.restore(state.routes.good, [snapshots[-1] for snapshots in state.restored.values()])
    locate = Locator()
    pipeline = Pipeline(
        Assembler(
            Locating(decode, locate), prune_routes, preflight.refused if preflight else None, model, locate=locate
        ),
        groups,
        Coalesce(quiet.quiet, quiet.max),
        telling.metrics,
        telling.audit.emit,
        keep=state.save,
        traced=telling.traces.change,
    )
    sources = [
        (source, pipeline.feed(source.name, source.kind))
        for source in make_sources(settings, decode, decode_manifest, cluster.source if cluster is not None else None)
    ]
    push = next(((each, feed) for each, feed in sources if isinstance(each, PushSource)), None)
    if push is not None:
        push[0].tie(PushTies(pipeline, groups, push[1], telling.audit, state))
    pipeline.restore(state.restored, state.good)
    pipeline.follow(lambda outcome: state.keep_objects(outcome.objects))
    pipeline.follow(Draining(asyncio.get_running_loop().call_later, pipeline.observe).take)
    return Flow(groups, pipeline, sources, push[0] if push is not None else None, preflight, state)


def _preflight(settings: Settings, metrics: Metrics) -> Preflight | None:
    """The gate that asks a real Envoy, if it is wanted; it works in a thread, and metrics belong to the loop's."""
    if not settings.preflight.enabled:
        return None
    loop = asyncio.get_running_loop()

    def meter(outcome: str, seconds: float) -> None:
        loop.call_soon_threadsafe(metrics.checked, outcome, seconds)

    return Preflight(EnvoyChecker(settings.preflight.envoy), settings.preflight.timeout, meter)

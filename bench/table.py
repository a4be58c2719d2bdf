"""Tables of results in Markdown, for the terminal and for the page alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bench.churn import Churned
from bench.derived import Derived
from bench.flat import Cost
from bench.kept import Kept
from bench.kubernetes import Followed
from bench.lag import Sampled
from bench.probe import Hold
from bench.results import Measured, Summary
from bench.targets import Verdict
from bench.trial import Figure

_TITLES = {"tidegate": "Tidegate", "naive": "naive", "go-snapshot": "Go snapshot", "go-linear": "Go linear"}
_FIGURES = tuple(Figure)


def comparison(shapes: Mapping[str, Measured]) -> str:
    """All figures of all shapes: median (least-most) of each server, and the ratio of Tidegate to the best peer."""
    servers = [key for key in _TITLES if any(key in each.contenders() for each in shapes.values())]
    head = ["load", "figure", *(_TITLES[key] for key in servers), "ratio"]
    rows = [row for measured in shapes.values() for row in _rows(measured, servers)]
    return markdown(head, rows)


def verdicts(found: Iterable[Verdict]) -> str:
    """The targets, and whether each is met."""
    return markdown(
        ["target", "measured", "met"], [[each.target, each.measured, "yes" if each.met else "NO"] for each in found]
    )


def costs(found: Iterable[Cost]) -> str:
    """What a change costs in process, by variant and number of clusters."""
    head = ["variant", "clusters", "derive, us", "tell a session, us", "its ACK, us"]
    head += ["decoded", "closure decisions", "responses", "bytes built", "calls"]
    rows = []
    for each in found:
        work = each.work
        times = [_short(each.derive_us), _short(each.tell_us), _short(each.ack_us)]
        counts = [work.decoded, work.decisions, work.responses, work.built_bytes, work.calls]
        rows.append([each.mode, f"{each.clusters:,}", *times, *(f"{count:,}" for count in counts)])
    return markdown(head, rows)


def derivations(found: Iterable[Derived]) -> str:
    """What a change costs from objects and verdicts to the next snapshot."""
    head = ["change of", "services", "routes", "routes on its port", "CPU, us"]
    head += ["items made", "resources", "their bytes", "closure decisions", "calls"]
    rows = []
    for each in found:
        counts = [each.made, each.resources, each.resource_bytes, each.work.decisions, each.work.calls]
        sizes = [each.services, each.routes, each.routes_on_port]
        rows.append([each.change, *(f"{size:,}" for size in sizes), _short(each.us), *(f"{each:,}" for each in counts)])
    return markdown(head, rows)


def samplings(found: Iterable[Sampled]) -> str:
    """What a round of sampling Kafka lag costs, up to the verdicts."""
    head = ["routes", "groups", "queries", "calls to Kafka", "sampling, CPU ms", "sampling, ms", "judging, CPU ms"]
    rows = []
    for each in found:
        counts = [each.routes, each.groups, each.queries, sum(each.calls.values())]
        times = [each.sample_cpu_ms, each.sample_ms, each.judge_ms]
        rows.append([*(f"{count:,}" for count in counts), *map(_short, times)])
    return markdown(head, rows)


def followers(found: Iterable[Followed]) -> str:
    """What reading a cluster costs, and how many times as much it costs the naive reader."""
    head = [
        "slices",
        "gateways",
        "",
        "read and made, s",
        "memory, MiB",
        "change, idle, ms",
        "busy, ms",
        "calls a change",
    ]
    rows = []
    for ours, naive in zip(*[iter(found)] * 2, strict=True):
        size = [f"{ours.slices:,}", f"{ours.gateways:,}"]
        times = [_times(ours.synced_s, naive.synced_s), _times(ours.memory_mib, naive.memory_mib)]
        times += [_times(ours.idle_ms, naive.idle_ms), _times_busy(ours, naive), "-"]
        for each in (ours, naive):
            cells = [*map(_short, (each.synced_s, each.memory_mib, each.idle_ms)), _busy(each)]
            rows.append([*size, each.reader, *cells, "-" if each.calls is None else _short(each.calls)])
        rows.append([*size, "ratio", *times])
    return markdown(head, rows)


def _busy(found: Followed) -> str:
    """The median while it was busy, and how many changes did not arrive in time, which it leaves out."""
    figure = "-" if found.busy_ms is None else _short(found.busy_ms)
    if (missed := found.busy_missed) is None:
        return figure
    told = f"{missed.missed} of {missed.changes} not within {missed.within_s:g} s"
    return told if found.busy_ms is None else f"{figure}; {told}"


def _times_busy(ours: Followed, naive: Followed) -> str:
    """At least, where the naive reader missed some: these took longer than the others, and than the limit."""
    if ours.busy_missed is not None:
        return "-"
    if naive.busy_missed is None:
        return _times(ours.busy_ms, naive.busy_ms)
    return f"over {_times(ours.busy_ms, naive.busy_ms or naive.busy_missed.within_s * 1e3)}"


def _times(ours: float | None, theirs: float | None) -> str:
    return f"{theirs / ours:,.1f}x" if ours and theirs else "-"


def keeps(found: Iterable[Kept]) -> str:
    """What is kept of a stream, the transport left out."""
    head = ["variant", "clusters", "bytes a stream", "with Envoy's Node in each request", "more"]
    rows = [
        [
            each.mode,
            f"{each.clusters:,}",
            _short(each.plain),
            _short(each.node_always),
            _short(each.node_always - each.plain),
        ]
        for each in found
    ]
    return markdown(head, rows)


def holds(found: Iterable[Hold]) -> str:
    """How long a publish held the event loop."""
    head = ["publish of", "variant", "clusters", "sessions", "took, ms", "loop held at most, ms"]
    return markdown(
        head,
        [
            [
                each.publish,
                each.mode,
                f"{each.clusters:,}",
                str(each.sessions),
                _short(each.took_ms),
                f"{_short(each.held_ms)}{'' if each.calm else ' *'}",
            ]
            for each in found
        ],
    )


def churns(found: Iterable[Churned]) -> str:
    """How the server fared under churn."""
    head = ["variant", "streams", "changes", "snapshots", "slowest stream, ms: p50 / p99 / max", "leapt over"]
    head += ["cores used", "memory, MiB: first / last", "growth, MiB", "loop held at most, ms", "lost"]
    rows = []
    for each in found:
        lag, memory = each.slowest, each.memory_mib or [0.0]
        over = f"{each.changes:,} in {each.seconds:.0f} s{'' if each.calm else ' *'}"
        row = [each.mode, f"{each.streams:,}", over, str(each.snapshots)]
        row += [f"{_short(lag.p50_ms)} / {_short(lag.p99_ms)} / {_short(lag.max_ms)}", f"{each.leaps:.0%}"]
        row += [f"{each.cpu_cores:.2f}", f"{memory[0]:.0f} / {memory[-1]:.0f}", f"{each.growth_mib:.1f}"]
        rows.append([*row, _short(each.held_ms), str(each.lost)])
    return markdown(head, rows)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose columns line up."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return "\n".join([line(head), line(["-" * width for width in widths]), *(line(row) for row in rows)])


def _rows(measured: Measured, servers: Sequence[str]) -> Iterable[list[str]]:
    title = measured.title
    for figure in _FIGURES:
        summaries = {key: measured.summary(key, figure) for key in servers}
        known = [each for each in summaries.values() if each is not None]
        if not known or (figure is Figure.LOST and not any(each.high for each in known)):
            continue
        ratio = measured.ratio(figure)
        cells = [_cell(summaries[key]) for key in servers]
        yield [title, str(figure), *cells, f"{ratio:.2f}" if ratio is not None else ""]
        title = ""  # once is enough


def _cell(summary: Summary | None) -> str:
    """Three digits are all that such figures can mean; `*` says that the machine was not calm each time."""
    if summary is None:
        return ""
    spread = f" ({_short(summary.low)}-{_short(summary.high)})" if summary.low != summary.high else ""
    return f"{_short(summary.median)}{spread}{'' if summary.calm else ' *'}"


def _short(value: float) -> str:
    if abs(value) >= 100:  # noqa: PLR2004
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"  # noqa: PLR2004

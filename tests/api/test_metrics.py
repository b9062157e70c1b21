"""/metrics: who may read it, whether it is what Prometheus reads, and whether it counts what happens."""

from __future__ import annotations

import re
import time
import timeit
from dataclasses import replace

import pytest

from bullpen.observe import counts
from bullpen.observe.metrics import OTHER, SERIES, Counter, Histogram, exposition, sample
from tests.driver import Api, Driver, Json, Offices
from tests.tasks.offices import scheduled, studio, timed

HELP = re.compile(r"# HELP ([a-z_:][a-z0-9_:]*) \S.*")
TYPE = re.compile(r"# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|histogram)")
LINE = re.compile(r'([a-z_:][a-z0-9_:]*)(\{[a-z_]+="(?:[^"\\\n]|\\.)*"(?:,[a-z_]+="(?:[^"\\\n]|\\.)*")*\})? (\S+)')

SPEAK: list[Json] = [{"calls": [{"tool": "send_message", "args": {"text": "hello"}}]}]
INVENT: list[Json] = [{"calls": [{"tool": "launch_rocket", "args": {}}, {"tool": "send_message", "args": {}}]}]


def parsed(text: str) -> dict[str, float]:
    """Every sample by its name and labels. A line that is not in the format is a failure."""
    assert text.endswith("\n")
    found: dict[str, float] = {}
    kinds: dict[str, str] = {}
    for line in text.splitlines():
        if kind := TYPE.fullmatch(line):
            assert kind[1] not in kinds, f"{kind[1]} is told twice"
            kinds[kind[1]] = kind[2]
        elif not HELP.fullmatch(line):
            value = LINE.fullmatch(line)
            assert value, line
            assert re.sub(r"_(bucket|sum|count)$", "", value[1]) in kinds or value[1] in kinds, line
            key = value[1] + (value[2] or "")
            assert key not in found, f"{key} is told twice"
            found[key] = float(value[3])
    return found


async def scraped(api: Api) -> dict[str, float]:
    response = await api.http.get("http://127.0.0.1/metrics")
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return parsed(response.text)


@pytest.mark.one_database
async def test_a_run_is_counted_from_request_to_outcome(office: Driver) -> None:
    before = await scraped(office)
    await office.agent("ada", steps=SPEAK)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    await office.run_finished("ada")
    await office.idle()
    after = await scraped(office)

    def grown(name: str) -> float:
        return after.get(name, 0) - before.get(name, 0)

    route = "/api/spaces/{space_id}/messages"
    assert grown(f'bullpen_http_requests_total{{method="POST",route="{route}",status="2xx"}}') == 1
    assert grown(f'bullpen_http_request_seconds_count{{route="{route}"}}') == 1
    assert grown('bullpen_runs_total{outcome="spoke",reason="done"}') == 1
    assert grown("bullpen_run_active_seconds_count") == 1
    assert grown("bullpen_steps_total") == 2
    assert grown('bullpen_tool_calls_total{tool="send_message",ending="done"}') == 1
    assert grown('bullpen_model_calls_total{provider="script",ending="answered"}') == 2
    assert grown("bullpen_events_delivered_total") >= 5
    assert grown("bullpen_commits_total") >= 5
    assert grown("bullpen_transaction_seconds_count") >= 5
    assert after["bullpen_database_up"] == 1
    assert after["bullpen_followers"] == 1
    assert after["bullpen_threads_queued"] == after["bullpen_threads_driven"] == after["bullpen_inbox_unclaimed"] == 0
    for name in ("bullpen_database_bytes", "process_resident_memory_bytes", "process_cpu_seconds_total"):
        assert after[name] > 0
    assert after["process_open_fds"] <= after["process_max_fds"]


async def test_metrics_show_waiting_work_and_its_age(offices: Offices) -> None:
    office = await offices.open(drive=False, watch=False)
    await office.agent("ada", steps=SPEAK)
    await office.space("general", ["ada"], wake={"people": "all"})
    await office.post("general", "hello")
    found = await scraped(office)
    assert (found["bullpen_threads_queued"], found["bullpen_inbox_unclaimed"]) == (1, 1)
    assert 0 <= found["bullpen_inbox_oldest_seconds"] < 60


@pytest.mark.one_database
async def test_metric_labels_never_contain_names_from_callers_or_models(office: Driver) -> None:
    # Figures are the process's: names that no other test has made.
    await office.agent("marmalade", steps=INVENT)
    await office.space("orangery", ["marmalade"], wake={"people": "all"})
    await office.post("orangery", "hello")
    await office.run_finished("marmalade")
    for path in ("/pergola/1", "/pergola/2", "/spaces/none-such"):
        await office.http.get(path)
    await office.http.request("BREW", "/me")
    response = await office.http.get("http://127.0.0.1/metrics")
    for word in ("launch_rocket", "pergola", "none-such", "BREW", "orangery", "marmalade"):
        assert word not in response.text
    found = parsed(response.text)
    assert found['bullpen_tool_calls_total{tool="unknown",ending="denied"}'] >= 1
    assert found['bullpen_http_requests_total{method="GET",route="none",status="4xx"}'] >= 2


async def test_metrics_report_a_lost_database(offices: Offices) -> None:
    office = await offices.open(watch=False)
    office.office.settings = replace(office.office.settings, metrics_token="scrape-me-please")
    await office.get("/me")  # the office is known to be claimed
    await office.office.store.close()
    response = await office.http.get("http://127.0.0.1/metrics", headers={"Authorization": "Bearer scrape-me-please"})
    assert response.status_code == 200
    assert parsed(response.text)["bullpen_database_up"] == 0


@pytest.mark.one_database
async def test_only_owners_and_the_metrics_token_can_read_metrics(office: Driver) -> None:
    await office.agent("ada", steps=SPEAK)
    _, pia = await office.person("Pia")
    for caller, status in ((Api(office.office, None), 401), (pia, 403), (await office.as_agent("ada"), 403)):
        assert (await caller.http.get("http://127.0.0.1/metrics")).status_code == status
    for empty in ("", "Bearer ", "Bearer"):
        response = await office.http.get("http://127.0.0.1/metrics", headers={"Authorization": empty})
        assert response.status_code == 401, "a setting that is not set is no password"
    office.office.settings = replace(office.office.settings, metrics_token="scrape-me-please")
    scraper = Api(office.office, "scrape-me-please")
    await scraped(scraper)
    assert (await scraper.http.get("/me")).status_code == 401, "it opens nothing else"
    assert (await Api(office.office, "scrape-me-pleasf").http.get("http://127.0.0.1/metrics")).status_code == 401


# ── the writer itself ───────────────────────────────────────────────────────────────────────────────────────────────


def test_labels_are_escaped_and_buckets_add_up() -> None:
    odd = Counter("odd_total", "With\na break.", "name")
    odd.add('a"b\\c\nd')
    spread = Histogram("spread_seconds", "How long.", buckets=(0.1, 1.0))
    for value in (0.05, 0.1, 0.5, 7.0):
        spread.observe(value)
    text = exposition([odd, spread, sample("level", "Now.", 1.5)]).decode()
    assert parsed(text) == {
        'odd_total{name="a\\"b\\\\c\\nd"}': 1,
        'spread_seconds_bucket{le="0.1"}': 2,
        'spread_seconds_bucket{le="1"}': 3,
        'spread_seconds_bucket{le="+Inf"}': 4,
        "spread_seconds_sum": 7.65,
        "spread_seconds_count": 4,
        "level": 1.5,
    }


def test_a_metric_with_too_many_series_groups_the_rest_together() -> None:
    counter, histogram = Counter("c_total", "C.", "id"), Histogram("h", "H.", "id")
    for number in range(SERIES + 50):
        counter.add(str(number))
        histogram.observe(1, str(number))
    assert len(counter.values) == len(histogram.series) == SERIES + 1
    assert counter.total(OTHER) == histogram.count(OTHER) == 50


@pytest.mark.parametrize(
    "observe", [lambda: counts.REQUESTS.add("GET", "/x", "2xx"), lambda: counts.LOOP_LAG.observe(0.01)]
)
def test_an_observation_costs_next_to_nothing(observe: object) -> None:
    # CPU time, which other processes do not add to.
    spent = timeit.repeat(observe, timer=time.thread_time, number=2_000, repeat=5)  # type: ignore[arg-type]
    assert min(spent) / 2_000 < 20e-6, "2 µs are the goal; this is for slow machines"


@pytest.mark.one_database
async def test_firings_of_tasks_are_counted_with_how_late_they_were(offices: Offices) -> None:
    office = await timed(offices)
    await studio(office.driver)
    before = await scraped(office.driver)
    await scheduled(office.driver)
    await office.wait(hours=1, seconds=2)
    await office.wait(hours=3)
    after = await scraped(office.driver)
    fired = 'bullpen_task_firings_total{status="fired"}'
    assert after[fired] - before.get(fired, 0) == 2
    # The second stands for those that were missed: it is late because nobody was there.
    for name, grown in (("bullpen_task_lag_seconds_count", 1), ("bullpen_task_lag_seconds_sum", 2)):
        assert after[name] - before.get(name, 0) == pytest.approx(grown, abs=0.1)

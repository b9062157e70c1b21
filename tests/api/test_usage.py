"""What was used, by agent, space, person and day, is the sum of the runs."""

from __future__ import annotations

from tests.driver import Driver
from tests.refusals import refused


async def test_usage_sums_the_runs_by_agent_space_person_and_day(office: Driver) -> None:
    await office.agent("ada", steps=[{"calls": [{"tool": "send_message", "args": {"text": "yes"}}]}])
    await office.agent("bob", steps=[{"calls": [{"tool": "do_nothing", "args": {}}]}], limits={"maxCostPerDay": 2.5})
    await office.space("den", ["ada", "bob"])
    pia_id, pia = await office.person("Pia")
    await office.create("/spaces/den/members", {"memberId": pia_id})
    await office.post("den", "@ada and @bob?")
    await pia.create("/spaces/den/messages", {"text": "@ada again"})
    for nth in range(1, 4):
        await office.run_finished(nth=nth)
    await office.idle()
    runs = await office.runs()
    by = {name: await office.items("/usage", by=name) for name in ("agent", "space", "person", "day")}
    for rows in by.values():
        assert sum(row["runs"] for row in rows) == len(runs) == 3
        for count in ("inputTokens", "outputTokens", "cost"):
            assert sum(row[count] for row in rows) == sum(run["usage"][count] for run in runs)
    agents = {row["id"]: row for row in by["agent"]}
    assert (agents["ada"]["runs"], agents["ada"]["name"]) == (2, "Ada")
    assert agents["bob"]["budget"] == 2.5
    assert [row["id"] for row in by["space"]] == ["den"]
    assert {row["id"]: row["runs"] for row in by["person"]} == {office.owner_id: 2, pia_id: 1}
    assert [row["id"] for row in by["day"]] == [runs[0]["startedAt"][:10]]
    await refused(pia, "GET", "/usage", 403)
    await refused(office, "GET", "/usage", 422, params={"by": "planet"})

"""What may be spent and what was, as the SDK has it: `bp.budgets` and `bp.usage`."""

from __future__ import annotations

from typing import Literal, TypeAlias

from bullpen.client.connection import Connection, Page, path
from bullpen.wire.nouns import Budget, BudgetKind, BudgetPeriod, BudgetUnit, UsageRow

UsageBy: TypeAlias = Literal["agent", "space", "person", "day", "model"]


class Budgets:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, *, kind: BudgetKind | None = None, of: str | None = None) -> Page[Budget]:
        """All of them, with what was spent of each until now."""
        found = await self._connection.request("GET", path("budgets"), query={"kind": kind, "subjectId": of})
        return Page([Budget.model_validate(item) for item in found["items"]], found.get("next"))

    async def set(
        self,
        kind: BudgetKind,
        of: str | None,
        amount: float,
        *,
        period: BudgetPeriod = "day",
        unit: BudgetUnit = "USD",
    ) -> Budget:
        """What may be spent in a day or a month. `of` is the agent, space, person or task; None for the office."""
        said = {"kind": kind, "subjectId": of, "period": period, "unit": unit, "amount": amount}
        body = {name: value for name, value in said.items() if value is not None}
        return Budget.model_validate(await self._connection.request("PUT", path("budgets"), body=body, repeatable=True))

    async def delete(self, id: str) -> None:
        await self._connection.request("DELETE", path("budgets", id))


class Usage:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def list(self, *, by: UsageBy = "agent", days: int | None = None) -> Page[UsageRow]:
        """What was used in so many days, today included: the dearest first, days in order."""
        found = await self._connection.request("GET", path("usage"), query={"by": by, "days": days})
        return Page([UsageRow.model_validate(item) for item in found["items"]], found.get("next"))

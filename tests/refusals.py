"""Requests that are refused, and the one shape that every refusal has."""

from __future__ import annotations

from typing import Any

from tests.driver import Api


async def refused(api: Api, method: str, path: str, status: int, **more: Any) -> dict[str, Any]:
    """The error of an answer that has the one shape all errors have."""
    response = await api.http.request(method, path, **more)
    assert response.status_code == status, f"{method} {path}: {response.status_code} {response.text}"
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert set(answer) == {"error"}
    error: dict[str, Any] = answer["error"]
    assert set(error) == {"code", "message", "fields"}
    assert error["message"].endswith(".")
    assert all(isinstance(what, str) and what for what in error["fields"].values())
    assert "Traceback" not in response.text
    assert ("www-authenticate" in response.headers) == (status == 401)
    return error

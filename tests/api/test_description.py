"""What the server says of itself: OpenAPI, and the two pages that are there until there is a real one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.driver import Driver, Json, Offices
from tests.openapi import read_openapi

pytestmark = pytest.mark.one_database

# Answers that no schema describes, and why.
WITHOUT_SCHEMA = {
    "GET /api/events": "a stream: docs/reference/events.md describes what is in it",
    "GET /metrics": "text for Prometheus: docs/guide/operate.md describes what is in it",
    "GET /api/spaces/{id}/export": "lines of JSON, each with its type",
    "GET /api/people/{id}/export": "lines of JSON, each with its type",
    "GET /api/agents/{id}/export": "lines of JSON, each with its type",
    "GET /api/spaces/{id}/skills/{name}/export": "a SKILL.md",
    "GET /api/files/{id}/content": "the bytes of a file",
    "GET /api/files/{id}/thumbnail": "the bytes of a small picture",
    "GET /api/avatars/{id}": "the bytes of a small picture",
}


@pytest.fixture
async def office(offices: Offices) -> Driver:
    return await offices.open(drive=False, watch=False)


def operations(schema: Json) -> Iterator[tuple[str, Json]]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_the_openapi_document_is_consistent() -> None:
    schema = read_openapi()
    assert re.match(r"3\.1\.\d", schema["openapi"])
    assert schema["info"]["title"] == "Bullpen"
    names = [operation["operationId"] for _, operation in operations(schema)]
    assert len(names) == len(set(names))
    schemas = schema["components"]["schemas"]
    used = {reference.removeprefix("#/components/schemas/") for reference in references(schema)}
    assert used == set(schemas), "every reference leads somewhere, and nothing is described in vain"
    for name, operation in operations(schema):
        asked = re.findall(r"\{(\w+)\}", name)
        given = [parameter["name"] for parameter in operation.get("parameters", []) if parameter["in"] == "path"]
        assert sorted(asked) == sorted(given), name
        assert all(p["required"] for p in operation.get("parameters", []) if p["in"] == "path")


def test_every_answer_and_every_error_has_its_schema() -> None:
    schema = read_openapi()
    undescribed = set()
    for name, operation in operations(schema):
        answers = dict(operation["responses"])
        refusal = answers.pop("4XX")
        assert refusal["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Refusal"}
        assert "422" not in answers, "FastAPI's own shape is not what we answer"
        for status, answer in answers.items():
            described = answer.get("content", {}).get("application/json", {}).get("schema")
            if status != "204" and not described:
                undescribed.add(name)
    assert undescribed == set(WITHOUT_SCHEMA)
    assert set(schema["components"]["schemas"]["Refusal"]["properties"]) == {"error"}
    assert schema["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert schema["security"] == [{"token": []}]


class Page(HTMLParser):
    """The tags of a page, and where its links lead."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src", "action")]

    def handle_data(self, data: str) -> None:
        self.text += data


async def test_html_pages_have_working_links_and_no_inline_scripts(office: Driver) -> None:
    for path in ("/", "/docs"):
        response = await office.http.get(f"http://office{path}", headers={"Authorization": ""})
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        policy = dict(part.strip().split(" ", 1) for part in response.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert response.headers["x-content-type-options"] == "nosniff"
        page = Page(response.text)
        assert not {"iframe", "object", "img", "style", "form"} & set(page.tags)
        assert not re.findall(r"<script(?![^>]* src=)", response.text), "scripts are files of ours"
        assert not [name for name in page.attributes if name.startswith("on")]
        assert {"html", "title", "h1"} <= set(page.tags)
        for link in page.links:
            assert link.startswith("/"), "nothing leads elsewhere"
            assert (await office.http.get(f"http://office{link}")).status_code == 200
    docs = Page((await office.http.get("http://office/docs")).text).text
    for name, _ in operations(read_openapi()):
        assert name.partition(" ")[2] in docs


async def test_the_description_needs_no_token_and_everything_else_does(office: Driver) -> None:
    served = (await office.http.get("http://office/openapi.json", headers={"Authorization": ""})).json()
    assert served == read_openapi()
    for path in ("/healthz/../api/me", "/api/me", "/api/docs", "/api"):
        response = await office.http.get(f"http://office{path}", headers={"Authorization": ""})
        assert response.status_code in (401, 404), path

"""What the scan asks is what GitHub's published descriptions allow."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from graphql import GraphQLSchema, build_schema, parse, validate
from pinproof.duplicates.queries import page_query, search_query

from tests.duplicates.make_descriptions import GRAPHQL, graphql_subset

QUERIES = [
    page_query(files=True),
    page_query(files=False),
    search_query(0, 0),
    search_query(1, 1),
    search_query(9, 3),
]


@pytest.mark.parametrize("query", QUERIES, ids=["page", "page without files", "bare", "one", "many"])
def test_a_query_is_valid_on_the_cut_of_the_schema(query: str) -> None:
    assert validate(build_schema(GRAPHQL.read_text()), parse(query)) == []


def test_the_cut_refuses_what_it_does_not_have() -> None:
    assert validate(build_schema(GRAPHQL.read_text()), parse("{ repository(name: 1) { nonsense } }"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> GraphQLSchema:
    """GitHub's whole schema as npm's @octokit/graphql-schema carries it."""
    folder = tmp_path_factory.mktemp("schema")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    command = [npm, "pack", "--silent", "@octokit/graphql-schema@15.26.1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
    if done.returncode:
        pytest.skip("the npm registry is out of reach")
    (archive,) = Path(folder).glob("*.tgz")
    with tarfile.open(archive) as packed:
        member = packed.extractfile("package/schema.graphql")
        assert member is not None
        text = io.TextIOWrapper(member, "utf-8").read()
    return build_schema(text, assume_valid=True)


@pytest.mark.registry
@pytest.mark.parametrize("query", QUERIES, ids=["page", "page without files", "bare", "one", "many"])
def test_a_query_is_valid_on_the_published_schema(published: GraphQLSchema, query: str) -> None:
    assert validate(published, parse(query)) == []


@pytest.mark.registry
def test_the_cut_is_what_was_published(published: GraphQLSchema) -> None:
    assert graphql_subset(published) == GRAPHQL.read_text()

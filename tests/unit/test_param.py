"""Values on their way to a rule's script: nothing in them is taken for a wildcard, and all of them arrive."""

from __future__ import annotations

import json

import pytest
from benchbook import param
from hypothesis import given
from hypothesis import strategies as st
from snakemake.io import get_wildcard_names

TEXT = st.text(st.characters(exclude_categories=("Cs",))) | st.text('{}"\\\\ab,')
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | TEXT,
                      lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner))  # fmt: skip


@given(VALUES)
def test_every_value_arrives_and_none_is_a_wildcard(value):
    written = param.text(value)
    assert json.loads(written) == value
    assert not get_wildcard_names(written)


@pytest.mark.parametrize("hostile", [
    "{draft_model}", "{x,\\d+}", '{"model": "{draft_model}"}', "{{x}}", "}{", "{input}", "\\{x}", "\\\\{x}",
])  # fmt: skip
def test_braces_in_a_title_or_a_flag(hostile):
    written = param.text({"title": hostile, "of": [hostile, (hostile,)]})
    assert not get_wildcard_names(written)
    assert json.loads(written) == {"title": hostile, "of": [hostile, [hostile]]}

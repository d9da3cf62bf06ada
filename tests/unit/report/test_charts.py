"""Charts of anything: text that the native library dies of, and what a crash costs."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rankveil.errors import OutputError
from rankveil.report import charts, drawer
from rankveil.report.drawer import draw, harmless, harmless_text

pytest.importorskip("vl_convert", reason="charts need rankveil[report]")

# Each of these alone ended the process, raised, or took longer than anybody waits.
HOSTILE = [
    *("a\x1bb", "a\0b", "\x07", "a\nb", "\r", "\x85\x9b", "\x7f", "\ud800", "\udfff\ud800", "\ufffe\uffff"),
    *(
        "\u202eabc\u2066",
        "x" * 200_000,
        "\u0301" * 5000,
        "\u200d" * 1000,
        "<b>&amp;]]></b>",
        "",
        " ",
        "'\"\\",
        "\u2028",
    ),
]


def chart(text: str, value: float = 3.0) -> dict[str, Any]:
    return {
        "title": text,
        "data": {"values": [{"x": text, "y": value}, {"x": "b", "y": 1}]},
        "mark": "bar",
        "encoding": {
            "x": {"field": "x", "type": "nominal", "title": text},
            "y": {"field": "y", "type": "quantitative"},
        },
    }


def test_a_chart_with_any_text_is_drawn() -> None:
    for text in HOSTILE:
        svg = charts.inline(chart(text), f"about {text}")
        assert svg.startswith("<svg ") and "could not be drawn" not in svg, repr(text[:20])
        assert all(sign in "\n\t" or sign.isprintable() or ord(sign) > 0x9F for sign in svg), repr(text[:20])
        svg.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e308])
def test_a_number_that_is_none_is_left_out(value: float) -> None:
    assert "could not be drawn" not in charts.inline(chart("a", value), "")


def test_labels_that_differ_by_a_control_character_stay_different() -> None:
    assert len({harmless_text(chr(code)) for code in range(128)}) == 128
    assert harmless_text("ε ≤ 1, naïve 日本 👍") == "ε ≤ 1, naïve 日本 👍"


def test_a_crash_of_the_library_costs_one_chart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert draw(chart("before")) is not None
    monkeypatch.setattr(drawer, "harmless", lambda content: content)
    assert "This chart could not be drawn" in charts.inline(chart("\x1b"), "Ages")
    with pytest.raises(OutputError, match="could not be drawn"):
        charts.drawn(chart("\x1b"))
    assert draw(chart("after")) is not None


def test_a_chart_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawer, "harmless", lambda content: content)
    monkeypatch.setattr(drawer, "SECONDS", 1)
    assert draw(chart("x" * 400_000)) is None
    monkeypatch.setattr(drawer, "SECONDS", 60)
    assert draw(chart("after")) is not None


def test_the_process_that_draws_ends_with_the_one_that_asks() -> None:
    draw(chart("a"))
    process = drawer._DRAWER._process
    assert process is not None and process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0
    assert draw(chart("b")) is not None, "and another one is begun"


def test_an_ordinary_specification_is_drawn_as_it_is() -> None:
    spec = charts.lines(
        [{"x": 1, "y": 0.5, "c": "a"}], x="x", y="y", x_title="x", y_title="y", title="t",
        colour=("c", ["a"], ["#000"]), dash=("c", ["a"], [[1, 0]]),
    )  # fmt: skip
    assert harmless(spec) == spec and harmless(charts._CONFIG) == charts._CONFIG

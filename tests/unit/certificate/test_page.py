"""The certificate's page: nothing on it that is not on the certificate, no word that is not explained, nothing run."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from rankveil.certificate import Certificate
from rankveil.certificate.page import page
from rankveil.certificate.page.glossary import TERMS, used
from tests.certificates import CASES, PUBLICATION, certificate_of

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
PRIVATE = [name for name in CASES if not name.startswith("published")]


def body(document: str) -> str:
    return document[document.index("<body>") :]


def text_of(document: str) -> str:
    """What a reader sees."""
    return html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", " ", body(document), flags=re.DOTALL)))


def numbers(text: str) -> set[str]:
    return {number.replace(",", "").rstrip(".") for number in _NUMBER.findall(text)}


def test_there_is_a_certificate_of_each_accounting() -> None:
    assert {certificate_of(case).accounting for case in CASES} == {None, "gaussian", "concentrated"}


@pytest.mark.parametrize("case", CASES)
def test_every_figure_of_the_page_stands_in_the_certificate(case: str) -> None:
    certificate = certificate_of(case)
    assert numbers(text_of(page(certificate))) <= numbers(certificate.to_json())


def test_the_check_of_figures_sees_one_that_the_certificate_does_not_have() -> None:
    certificate = certificate_of("synthetic")
    made = page(certificate).replace("</main>", "<p>about 1,234.5 people</p></main>")
    assert numbers(text_of(made)) - numbers(certificate.to_json()) == {"1234.5"}


@pytest.mark.parametrize("case", CASES)
def test_the_page_runs_nothing_and_asks_for_nothing(case: str) -> None:
    made = page(certificate_of(case))
    assert not re.search(r"<(script|iframe|object|embed|link|img|form|input|base)\b", made)
    assert not re.search(r"\bon\w+\s*=|\b(src|href|action|style)\s*=|url\(|@import|https?:", made)
    assert "default-src 'none'" in made


@pytest.mark.parametrize("case", ["synthetic", "published:individual-ranking"])
def test_texts_of_the_plan_are_escaped_and_all_there(case: str) -> None:
    made = page(certificate_of(case))
    assert "<b>ages</b>" not in made
    for name, said in PUBLICATION.items():
        assert html.escape(said) in made, name
    assert "Left out of the release: name." in made


@pytest.mark.parametrize("case", [name for name in CASES if name.startswith("published")])
def test_a_method_without_a_guarantee_says_so_in_the_first_line_in_red_and_in_words(case: str) -> None:
    made = page(certificate_of(case))
    first = made[made.index("<body>") :].split("\n")[2]
    assert first.startswith('<p class="verdict bad" role="note"><strong>NOT PROTECTED.</strong>')
    assert "not differentially private" in first
    assert re.search(r"\.verdict\.bad \{[^}]*color: var\(--bad\)", made)
    assert "true positive" not in text_of(made)
    assert "Protected.</strong>" not in made


def test_a_test_says_that_it_is_not_for_release() -> None:
    made = page(certificate_of("synthetic").model_copy(update={"for_release": False}))
    assert "NOT FOR RELEASE." in made.split("\n<h1>")[0]


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("synthetic", "Every row of the table, by itself. Put any other row in the place of one row"),
        ("rows there or not", "and even whether it is there. Take one row out"),
        ("persons", "Every person in the table, with all rows together; at most 3 rows of each person were used."),
        ("persons there or not", "and even whether the person is in the table; at most 3 rows"),
    ],
)
def test_who_is_protected_is_said_in_the_units_words(case: str, said: str) -> None:
    text = " ".join(text_of(page(certificate_of(case))).split())
    assert said in text
    assert ("ε counts twice" in text) == ("there or not" in case)
    assert ("guesses whether the" in text) == ("there or not" in case)


def test_limits_and_roles_of_columns_are_shown() -> None:
    text = " ".join(text_of(page(certificate_of("public"))).split())
    assert "The public columns, which are released as they are: town." in text
    assert "computed: " in text_of(page(certificate_of("derived")))
    certificate = certificate_of("synthetic")
    first = certificate.columns[0].model_copy(update={"source": "the handbook"})
    assert "the handbook" in page(certificate.model_copy(update={"columns": (first, *certificate.columns[1:])}))


def test_the_page_is_a_function_of_the_certificate() -> None:
    certificate = certificate_of("delta")
    assert page(Certificate.model_validate_json(certificate.to_json())) == page(certificate)


# Words


def basic_words() -> set[str]:
    lines = (Path(__file__).parent / "plain_words.txt").read_text().splitlines()
    return {word for line in lines if not line.startswith("#") for word in line.split()}


_ENDINGS = ("s", "es", "d", "ed", "ing", "er", "r", "est", "st", "ly", "'s", "n", "en")


def is_basic(word: str, known: set[str]) -> bool:
    """A word of the list, or one that Ogden's rules make of it: an ending, a letter doubled or changed for it, un-."""
    if word in known:
        return True
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word[: -len(ending)]
            doubled = stem[:-1] if len(stem) > 2 and stem[-1] == stem[-2] else stem
            if {stem, stem + "e", stem[:-1] + "y" if stem.endswith("i") else stem, doubled} & known:
                return True
    return word.startswith("un") and is_basic(word[2:], known)


def own_words(document: str, certificate: Certificate) -> str:
    """What the page says itself: without exact quotations, which are marked, and without what the plan says."""
    kept = re.sub(r'<(p|dl|small) class="[^"]*exact[^"]*">.*?</\1>', " ", document, flags=re.DOTALL)
    kept = re.sub(r"<code>.*?</code>", " ", kept)
    text = text_of(kept)
    of_plan = [*PUBLICATION.values(), *(column.name for column in certificate.columns), *(certificate.dropped or ())]
    of_plan += [
        certificate.method,
        certificate.rankveil_version,
        *(column.derived or "" for column in certificate.columns),
    ]
    for said in sorted(of_plan, key=len, reverse=True):
        if said:
            text = re.sub(rf"(?<!\w){re.escape(said)}(?!\w)", " ", text)
    return re.sub(r"[0-9a-f]{64}", " ", text)


def unexplained(document: str, certificate: Certificate) -> set[str]:
    text = own_words(document, certificate).lower()
    text = re.sub(r"certificate\.json|release\.(csv|parquet)|rankveil|sha-256", " ", text)
    known = basic_words()
    for term in used(body(document)):
        for form in sorted(term.forms, key=len, reverse=True):
            text = re.sub(rf"(?<!\w){re.escape(form)}(?!\w)", " ", text)
    found = set()
    for word in _WORD.findall(text.replace("’", "'")):
        for piece in word.split("-"):
            if not is_basic(piece, known) and not is_basic(piece.removesuffix("'s"), known):
                found.add(piece)
    return found


@pytest.mark.parametrize("case", CASES)
def test_no_sentence_needs_a_word_that_is_neither_common_nor_explained(case: str) -> None:
    certificate = certificate_of(case)
    assert unexplained(page(certificate), certificate) == set()


def test_the_check_of_words_finds_one_that_is_not_explained() -> None:
    certificate = certificate_of("synthetic")
    made = page(certificate).replace("</main>", "<p>A posterior over the latent marginals, mostly.</p></main>")
    assert unexplained(made, certificate) == {"posterior", "latent", "marginals"}


def test_the_glossary_explains_every_term_that_is_used_and_no_other() -> None:
    made = page(certificate_of("published:mdav"))
    listed = set(re.findall(r"<dt>([^<]+)</dt>", made[made.index('id="words"') :]))
    assert listed == {html.escape(term.name) for term in used(body(made))}
    assert "δ (delta)" not in listed
    assert len({form for term in TERMS for form in term.forms}) == sum(len(term.forms) for term in TERMS)

"""What the page says, section by section. Plain words: a test holds every one of them against a list of common words
and the glossary. Quotations that are exact and technical are marked as such, and nothing else needs them."""

from __future__ import annotations

from html import escape

from rankveil.certificate.content import Certificate
from rankveil.certificate.page.pictures import bar, spending
from rankveil.certificate.page.pieces import bullets, facts, paragraph, section, table
from rankveil.declare.unit import Unit
from rankveil.meaning import LARGE
from rankveil.published_accuracy import AccuracyFigure

_ROWS_OF = {
    "synthetic": "The rows are made up: they were drawn from counts with noise. No row is that of a person; by chance"
    " one may be like it.",
    "aligned": "Every row still belongs to one record of the table. Its values were changed at random.",
    "laplace": "Every row still belongs to one record of the table. Each of its values got noise of its own.",
    "unlinked": "Each column was put in a random order of its own: values side by side do not belong together.",
    "multivariate": "Records were put together in groups; a row is the mean of a group, with noise, in random order.",
}
UNTITLED = "Certificate of a release"
_SAID = ("curator", "contact", "purpose", "region", "sector", "period", "licence", "notes")
_CALLED = {"curator": "published by"}


def head(certificate: Certificate) -> str:
    """The first lines: whether anybody is protected comes before everything else."""
    title = escape(certificate.title or UNTITLED)
    if not certificate.differentially_private:
        first = (
            '<p class="verdict bad" role="note"><strong>NOT PROTECTED.</strong> This table is not differentially'
            " private: there is no limit on what an attacker can learn from it about one person.</p>"
        )
    elif not certificate.for_release:
        first = (
            '<p class="verdict bad" role="note"><strong>NOT FOR RELEASE.</strong> This is a test: its noise can be'
            " computed again, and taken away.</p>"
        )
    else:
        said = " ".join([certificate.statement, *([certificate.in_all] if certificate.in_all else [])])
        first = f'<p class="verdict good"><strong>Protected.</strong> {escape(said)}</p>'
    by = certificate.publication.curator if certificate.publication else None
    day = certificate.created.date().isoformat()
    line = ", ".join(
        part for part in ("Certificate", f"published by {by}" if by else "", day, _signed(certificate)) if part
    )
    return f'<header>\n{first}\n<h1>{title}</h1>\n<p class="quiet">{escape(line)}</p>\n</header>'


def _signed(certificate: Certificate) -> str:
    return "not signed" if certificate.signed is None else "signed"


def protected(certificate: Certificate) -> str:
    said = []
    if certificate.publication is not None:
        said = [(_CALLED.get(name, name), getattr(certificate.publication, name) or "") for name in _SAID]
    kept = [("rows", f"{certificate.rows:,}"), ("method", certificate.method)]
    kept += [("made with", f"rankveil {certificate.rankveil_version}")]
    told = facts([entry for entry in said + kept if entry[1]], "facts")
    if not certificate.differentially_private:
        return section(
            "protected",
            "What was protected, and for whom",
            paragraph(
                "Nobody. The values were changed, but what was done does not limit what the release gives away. Use it"
                " to compare methods, and do not publish it as if it were safe."
            ),
            paragraph(f"Why, exactly: {certificate.reason or ''} {certificate.statement}", kind="exact"),
            told,
        )
    return section(
        "protected",
        "What was protected, and for whom",
        paragraph(*_for_whom(certificate.unit)),
        paragraph(_ROWS_OF.get(certificate.method, "")),
        told,
        paragraph(f"Exactly: {certificate.neighbours}", kind="exact"),
    )


def _for_whom(unit: Unit) -> list[str]:
    """Without a word like "almost": how much may change, the next section says in figures."""
    within = (
        "how likely each possible release is changes only within a limit, which ε sets. The next part says what it is."
    )
    by_row = "A person with several rows is protected row by row, not as a whole."
    if unit.person is None and unit.rows_public:
        return ["Every row of the table, by itself. Put any other row in the place of one row:", within, by_row]
    if unit.person is None:
        there = "Every row of the table, by itself, and even whether it is there. Take one row out, or put one in:"
        return [there, within, by_row]
    used = "one row of each person was used" if unit.rows == 1 else f"at most {unit.rows} rows of each person were used"
    if unit.neighbours == "replace":
        return [
            f"Every person in the table, with all rows together; {used}. Put another person in the place of one:",
            within,
        ]
    return [
        f"Every person, with all rows together, and even whether the person is in the table; {used}. Take one person",
        f"out, or put one in: {within}",
    ]


def meaning(certificate: Certificate) -> str:
    found = certificate.meaning
    if found is None:
        return ""
    unit = certificate.unit
    one = "row" if unit.person is None else "person"
    there = unit.neighbours == "add-remove"
    what = (
        f"whether the {one} is in the table"
        if there
        else f"what the {one}'s record says"
        if one == "person"
        else "what the row says"
    )
    delta = certificate.delta not in (None, "0")
    extra = f" (up to an extra probability of at most δ = {certificate.delta})" if delta else ""
    sentences = [
        f"ε (epsilon) says how much the release can depend on one {one}: the smaller, the better.",
        f"Think of an attacker who knows all other rows, and guesses {what}.",
        "With the release, the odds between two guesses change by a factor of at most"
        f" {_grouped(found.odds_factor)}{extra}.",
        "If two guesses were equally likely before, the better one is right in at most"
        f" {found.best_guess_percent} % of cases; a coin is right half the time.",
    ]
    if there:
        sentences.append(f"For guesses about what the rows of the {one} say, ε counts twice.")
    if certificate.in_all:
        sentences.append("All that was published is counted: the release, and the figures of its accuracy.")
    if float(certificate.together or 0) > LARGE:
        sentences.append("That is a weak limit: the number ε is large.")
    rows = [
        [
            f"{attack.false_positive_percent} %",
            f"{attack.true_positive_percent} %",
            bar(float(attack.true_positive_percent), kind="bar attack"),
        ]
        for attack in found.attacks
    ]
    question = f"A test for {what}: if it says yes, wrongly, in …"
    return section(
        "meaning",
        f"What ε = {certificate.together} means here",
        paragraph(*sentences),
        table(
            [question, "… it says yes, rightly, in at most", "of all cases"], rows, "attacks", "What a test can reach"
        ),
        paragraph(
            "This holds for every attacker, whatever he knows and however much he computes.",
            "Figures are rounded upwards.",
            kind="quiet",
        ),
    )


def _grouped(factor: str) -> str:
    """With a comma after every three digits, where there are many."""
    return f"{int(factor):,}" if factor.isdecimal() else factor


def limits(certificate: Certificate) -> str:
    if not certificate.differentially_private:
        nothing = "Nothing of the table is protected: no value, no row, and not the order of the rows."
        return section("limits", "What is not protected", paragraph(nothing), *_remarks(certificate))
    unit = certificate.unit
    public = [column.name for column in certificate.columns if column.role == "public"]
    rows = (
        f"How many rows the table has: {certificate.rows:,}."
        if unit.rows_public
        else "The number of rows of the release is a noisy number: how many rows the table has is protected as well."
    )
    ledger = f" This one is entry {certificate.ledger.entry} of the publisher's ledger." if certificate.ledger else ""
    items = [
        rows,
        f"The public columns, which are released as they are: {', '.join(public)}." if public else "",
        "The order of the rows: row by row it is that of the table." if certificate.row_aligned else "",
        "The plan: which columns there are, their limits and labels.",
        "What is true of many people. If the release shows that smoking makes people ill, it tells this about every"
        " person who smokes, in the table or not.",
        f"What other releases about the same people tell: each has an ε of its own, and they add up.{ledger}",
        "The table itself, where it is kept, and whoever may look into it.",
    ]
    return section("limits", "What is not protected", bullets(items), *_remarks(certificate))


def _remarks(certificate: Certificate) -> list[str]:
    return [paragraph(f"Remark: {remark}", kind="exact") for remark in certificate.remarks]


def budget(certificate: Certificate) -> str:
    if not certificate.spent:
        return ""
    return section(
        "budget",
        "How the budget was spent",
        spending(certificate.spent),
        paragraph(
            "Each part of the budget bought one kind of count, with noise; less noise costs more. A bar is as long as"
            " its part, beside the largest one. The plan, a public rule and noisy counts decided the parts, never the"
            " exact values of the table."
            if certificate.differentially_private
            else "The method divides its noise like this. That is not a budget that protects anybody.",
            kind="quiet",
        ),
    )


def accuracy(certificate: Certificate) -> str:
    if not certificate.expected:
        text = "Nothing was computed about it. What can be said before a release, the dry run of rankveil says."
    else:
        text = (
            "The last column of the table of columns says how much noise there is on one count or value. It follows"
            " from the plan and the number of rows, and holds for every table of this size. What is made of it can"
            " come out nearer to the table than the noise, or further from it."
        )
    given = "No figure on this page was computed from the values of the table: that would give them away."
    if certificate.published_accuracy:
        given = "No other figure on this page was computed from the values of the table: that would give them away."
    return section("accuracy", "How accurate it is expected to be", paragraph(text, given), *_measured(certificate))


def _measured(certificate: Certificate) -> list[str]:
    """Figures that were published with noise, for an ε of their own."""
    said = []
    for place, each in enumerate(certificate.published_accuracy or (), start=1):
        rows = [[_compared(one), f"{one.value}", f"{one.lower} to {one.upper}"] for one in each.figures]
        name = "Figures of accuracy" if place == 1 else f"Figures of accuracy, {place}"
        said += [
            paragraph(
                "These figures were measured on the table after the release was made, with noise. They cost a budget of"
                f" their own, ε = {each.epsilon}; with the release it is ε = {each.together_epsilon} in all."
            ),
            table(
                ["Table and release", "How different", "Without the noise, in 95 % of cases"], rows, "accuracy", name
            ),
        ]
    if said:
        said.append(
            paragraph(
                "How different columns are is the part of the rows that would have to change for table and release to"
                " be the same there: 0 says that they are the same, 1 that they have nothing in common.",
                kind="quiet",
            )
        )
    return said


def _compared(figure: AccuracyFigure) -> str:
    """HTML: what a figure of accuracy is about."""
    if figure.kind == "query":
        code = f"<code>{escape(figure.condition or '')}</code>"
        return f"the part of all rows with {code}: in the table, less in the release"
    what = "columns, each by itself" if figure.kind == "1-way TV" else "columns, two at a time"
    return f"{what}: the mean of {figure.tables}"


def checking(certificate: Certificate) -> str:
    if certificate.signed is None:
        signed = [
            "Not signed. Whoever can change these files can change this page with them: compare the fingerprint with"
            " what the publisher shows elsewhere."
        ]
        command = "rankveil verify FOLDER"
    else:
        name = f", whose owner goes by the name {certificate.signed.name}" if certificate.signed.name else ""
        signed = [
            f"Signed with a key{name}. Compare its fingerprint with what the publisher shows elsewhere. Every file of"
            " the release is on the list that was signed (manifest.json)."
        ]
        command = "rankveil verify FOLDER --key KEY"
    also = ["the noisy counts that the rows were drawn from"] if certificate.model else []
    also += [f"weights of {certificate.weights.replicates} draws"] if certificate.weights else []
    beside = f"With the table come {' and '.join(also)}. They follow from the same noise and cost nothing more."
    release = certificate.release
    entries = [] if release is None else [(f"fingerprint of {release.file} (SHA-256)", release.sha256)]
    entries += [("fingerprint of the key (SHA-256)", certificate.signed.key)] if certificate.signed else []
    return section(
        "checking",
        "How to check",
        paragraph(*signed, beside if also else ""),
        f"<p>In a terminal: <code>{escape(command)}</code></p>",
        facts(entries, "prints"),
        paragraph(
            "This shows that the files are the ones listed, that the parts of the budget add up, that values keep to"
            " their limits and that this page says what certificate.json says. It cannot show that the noise was really"
            " drawn, or that limits were not read from the table: for that you trust the publisher.",
            kind="quiet",
        ),
    )


def theorems(certificate: Certificate) -> str:
    if not certificate.theorems:
        return ""
    intro = "For readers who check proofs; nothing above needs them. The proofs are in the documents of rankveil."
    listed = facts([(f"{one.id} {one.title}", one.sentence) for one in certificate.theorems], "theorems exact")
    heading = "The theorems behind it" if certificate.differentially_private else "The theorems against it"
    return section("theorems", heading, paragraph(intro, kind="quiet"), listed)


def foot(certificate: Certificate) -> str:
    shares = f"plan {certificate.plan.sha256}"
    return (
        f'<footer><p class="quiet">Every figure on this page stands in certificate.json. {escape(shares)}</p></footer>'
    )

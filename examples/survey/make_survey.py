"""A made-up survey of 50 columns and 2,000 people, with the codebooks that an archive would publish beside it.

    python examples/survey/make_survey.py my-survey/
    rankveil init my-survey/survey.csv --codebook my-survey/survey.xml --out plan.toml

Writes survey.csv, its DDI-Codebook 2.5 (survey.xml), and the same description as a sheet (codebook.csv), a Table Schema
(schema.json), CSVW (survey.csv-metadata.json) and SDV metadata (metadata.json); with pyreadstat also survey.sav with
labels. Nobody in it is a person: every value is drawn from the seed.
"""

from __future__ import annotations

import argparse
import csv
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

TITLE = "Survey of Living Together"
YES_NO = {"1": "Yes", "2": "No"}
NO_ANSWER = {"8": "Don't know", "9": "No answer"}
AGREE = {"1": "Strongly disagree", "2": "Disagree", "3": "Neither", "4": "Agree", "5": "Strongly agree"}


@dataclass(frozen=True)
class Question:
    """One column: what its codebook says."""

    name: str
    label: str
    type: str  # integer, number, date, nominal, ordinal, id
    low: str = ""
    high: str = ""
    codes: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # codes that mean missing
    decimals: int = 0
    weight: bool = False


def questions() -> list[Question]:
    trusted = ("parliament", "courts", "police", "press", "science", "banks", "neighbours", "statistics")
    things = ("cars", "taxes", "schools", "climate", "housing", "work", "family", "europe", "data", "future")
    drugs = ("alcohol", "tobacco", "cannabis", "sedatives", "opioids", "stimulants", "ecstasy", "inhalants")
    regions = ("North", "East", "South", "West", "Centre", "Coast", "Islands", "Capital")
    jobs = ("Employed", "Self-employed", "Unemployed", "Student", "Retired", "Ill or disabled", "At home", "Other")
    marital = ("Single", "Married", "Partnership", "Separated", "Divorced", "Widowed")
    levels = ("None", "Primary", "Lower secondary", "Upper secondary", "Short tertiary", "Bachelor", "Master or more")
    bands = ("under 500", "500-999", "1000-1499", "1500-1999", "2000-2999", "3000-3999", "4000-4999", "5000 or more")
    refused = {"98": "Don't know", "99": "Refused"}
    return [
        Question("respondent_id", "Number of the respondent", "id"),
        Question("interview_date", "Day of the interview", "date", "2031-01-01", "2031-12-31"),
        Question("region", "Region of residence", "nominal", codes=_numbered(regions)),
        Question("urban", "Kind of place", "ordinal", codes={"1": "Village", "2": "Town", "3": "City"}),
        Question("sex", "Sex", "nominal", codes={"1": "Male", "2": "Female", "3": "Other"}),
        Question("age", "Age in years", "integer", "16", "110"),
        Question("birth_country", "Born in the country", "nominal", codes=YES_NO, missing=NO_ANSWER),
        Question("marital", "Marital status", "nominal", codes=_numbered(marital), missing=NO_ANSWER),
        Question("household_size", "Persons in the household", "integer", "1", "20"),
        Question("children", "Children below 18", "integer", "0", "15"),
        Question("education", "Highest level of education", "ordinal", codes=_numbered(levels)),
        Question("employment", "Main activity", "nominal", codes=_numbered(jobs)),
        Question("hours_worked", "Hours worked last week", "integer", "0", "120", missing={"-8": "Not applicable"}),
        Question("income_band", "Net monthly income in bands", "ordinal", codes=_numbered(bands), missing=refused),
        Question("rent", "Monthly rent", "number", "0", "10000", missing={"-1": "Owner"}, decimals=2),
        Question("health", "Health in general", "ordinal", codes=_health(), missing=NO_ANSWER),
        Question("height", "Height in cm", "integer", "100", "230", missing={"999": "No answer"}),
        Question("weight", "Weight in kg", "number", "25", "300", missing={"999": "No answer"}, decimals=1),
        Question("smoker", "Smokes", "nominal", codes=YES_NO, missing=NO_ANSWER),
        Question("internet_hours", "Hours online a day", "number", "0", "24", decimals=1),
        Question("life_satisfaction", "Satisfaction with life", "integer", "0", "10", missing={"99": "No answer"}),
        *(
            Question(f"trust_{name}", f"Trust in {name}", "integer", "0", "10", missing={"88": "DK", "99": "NA"})
            for name in trusted
        ),
        *(Question(f"agree_{name}", f"View on {name}", "ordinal", codes=AGREE, missing=NO_ANSWER) for name in things),
        *(Question(f"drug_{name}", f"Ever used: {name}", "nominal", codes=YES_NO, missing=NO_ANSWER) for name in drugs),
        Question("voted", "Voted in the last election", "nominal", codes=YES_NO, missing=NO_ANSWER),
        Question("language", "Language of the interview", "nominal", codes={"A": "First", "B": "Second", "C": "Third"}),
        Question("survey_weight", "Weight of the record", "number", "0", "20", decimals=4, weight=True),
    ]


def _numbered(labels: tuple[str, ...]) -> dict[str, str]:
    return {str(place + 1): label for place, label in enumerate(labels)}


def _health() -> dict[str, str]:
    return _numbered(("Very bad", "Bad", "Fair", "Good", "Very good"))


def rows(count: int, seed: int) -> dict[str, list[str]]:
    """Answers: drawn with a little dependence on age, so that a release has something to keep."""
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(8, 6, count).astype(int) + 16, 16, 97)
    made: dict[str, list[str]] = {}
    for place, question in enumerate(questions()):
        made[question.name] = _answers(question, place, age, random)
    return made


def _answers(question: Question, place: int, age: Any, random: np.random.Generator) -> list[str]:
    count = len(age)
    if question.type == "id":
        return [f"R{number:06}" for number in random.permutation(count) + 100_000]
    if question.name == "age":
        return [str(value) for value in age]
    tilt = (age - 50) / 60 * (1 if place % 2 else -1)
    if question.type == "date":
        days = random.integers(0, 365, count)
        return [str(np.datetime64("2031-01-01") + int(day)) for day in days]
    if question.codes:
        codes = list(question.codes)
        chosen = np.clip((random.beta(2, 2, count) + tilt / 4) * len(codes), 0, len(codes) - 1).astype(int)
        texts = [codes[each] for each in chosen]
    else:
        low, high = float(question.low), float(question.high)
        values = low + (high - low) * np.clip(random.beta(2, 6, count) + tilt / 20, 0, 1)
        texts = [f"{value:.{question.decimals}f}" for value in values]
    for code in question.missing:
        texts = [code if miss else text for miss, text in zip(random.random(count) < 0.02, texts, strict=True)]
    if place % 5 == 4 and not question.weight:
        texts = ["" if miss else text for miss, text in zip(random.random(count) < 0.01, texts, strict=True)]
    return texts


# Codebooks


def ddi(asked: list[Question]) -> str:
    variables = "\n".join(_ddi_variable(place + 1, question) for place, question in enumerate(asked))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<codeBook xmlns="ddi:codebook:2_5" version="2.5">\n'
        f"  <stdyDscr><citation><titlStmt><titl>{escape(TITLE)}</titl></titlStmt></citation></stdyDscr>\n"
        f"  <dataDscr>\n{variables}\n  </dataDscr>\n</codeBook>\n"
    )


def _ddi_variable(number: int, question: Question) -> str:
    natures = {"nominal": "nominal", "ordinal": "ordinal", "integer": "ratio", "number": "ratio"}
    attributes = {"ID": f"V{number}", "name": question.name, "intrvl": "discrete" if question.codes else "contin"}
    if question.type in natures:
        attributes |= {"nature": natures[question.type], "dcml": str(question.decimals)}
    if question.weight:
        attributes["wgt"] = "wgt"
    parts = [f"<labl>{escape(question.label)}</labl>"]
    if question.type == "id":
        parts.append("<security>Not for publication</security>")
    if question.low:
        ends = f"min={quoteattr(question.low)} max={quoteattr(question.high)}"
        parts.append(f'<valrng><range UNITS="REAL" {ends}/></valrng>')
    if question.missing:
        items = "".join(f'<item UNITS="REAL" VALUE={quoteattr(code)}/>' for code in question.missing)
        parts.append(f"<invalrng>{items}</invalrng>")
    for code, label in {**question.codes, **question.missing}.items():
        missing = ' missing="Y"' if code in question.missing else ""
        parts.append(f"<catgry{missing}><catValu>{escape(code)}</catValu><labl>{escape(label)}</labl></catgry>")
    category = ' category="date"' if question.type == "date" else ""
    parts.append(f'<varFormat type="{"character" if question.type in ("id", "date") else "numeric"}"{category}/>')
    said = " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items())
    return f"    <var {said}>\n" + "".join(f"      {part}\n" for part in parts) + "    </var>"


def sheet(asked: list[Question]) -> list[list[str]]:
    def codes(given: dict[str, str]) -> str:
        return "; ".join(f"{code}={label}" for code, label in given.items())

    lines = [["name", "label", "type", "min", "max", "values", "missing", "step"]]
    for each in asked:
        step = str(10**-each.decimals) if each.type == "number" else ""
        kind = "identifier" if each.type == "id" else each.type
        lines.append([each.name, each.label, kind, each.low, each.high, codes(each.codes), codes(each.missing), step])
    return lines


def table_schema(asked: list[Question]) -> dict[str, Any]:
    types = {"id": "string", "nominal": "string", "ordinal": "string"}
    fields = []
    for each in asked:
        entry: dict[str, Any] = {"name": each.name, "title": each.label, "type": types.get(each.type, each.type)}
        if each.missing:
            entry["missingValues"] = [{"value": code, "label": label} for code, label in each.missing.items()]
        if each.codes:
            entry["categories"] = [{"value": code, "label": label} for code, label in each.codes.items()]
            entry["categoriesOrdered"] = each.type == "ordinal"
        elif each.low:
            convert = str if each.type == "date" else float if each.type == "number" else int
            entry["constraints"] = {"minimum": convert(each.low), "maximum": convert(each.high)}
        fields.append(entry)
    return {"fields": fields, "missingValues": [""]}


def csvw(asked: list[Question]) -> dict[str, Any]:
    columns = []
    for each in asked:
        typed: dict[str, Any] = {"base": {"integer": "integer", "number": "decimal", "date": "date"}.get(each.type, "string")}
        if each.codes:
            typed["format"] = "|".join(each.codes)
        elif each.low:
            typed |= {"minimum": each.low, "maximum": each.high}
        column = {"name": each.name, "titles": each.name, "dc:title": each.label, "datatype": typed}
        columns.append({**column, "null": ["", *each.missing]} if each.missing else column)
    context = "http://www.w3.org/ns/csvw"
    return {"@context": context, "url": "survey.csv", "tableSchema": {"columns": columns, "primaryKey": "respondent_id"}}


def sdv(asked: list[Question]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for each in asked:
        if each.type == "id":
            columns[each.name] = {"sdtype": "id"}
        elif each.type == "date":
            columns[each.name] = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
        elif each.codes:
            columns[each.name] = {"sdtype": "categorical"}
        else:
            columns[each.name] = {"sdtype": "numerical"}
            if each.type == "integer":
                columns[each.name]["computer_representation"] = "Int64"
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "primary_key": "respondent_id", "columns": columns}


def write_sav(path: Path, asked: list[Question], answers: dict[str, list[str]]) -> bool:
    """With labels, missing codes and levels of measurement; False where pyreadstat or pandas are not installed."""
    try:
        import pandas as pd
        import pyreadstat
    except ImportError:
        return False
    columns: dict[str, Any] = {}
    for each in asked:
        texts = answers[each.name]
        if each.type in ("id", "date") or each.name == "language":
            columns[each.name] = pd.to_datetime(texts).date if each.type == "date" else texts
        else:
            columns[each.name] = [float(text) if text else None for text in texts]
    measures = {"nominal": "nominal", "ordinal": "ordinal", "integer": "scale", "number": "scale"}
    numeric = [each for each in asked if each.type not in ("id", "date") and each.name != "language"]
    pyreadstat.write_sav(
        pd.DataFrame(columns),
        str(path),
        column_labels=[each.label for each in asked],
        variable_value_labels={
            each.name: {
                (float(code) if each in numeric else code): label for code, label in {**each.codes, **each.missing}.items()
            }
            for each in asked
            if each.codes or each.missing
        },
        missing_ranges={each.name: [float(code) for code in each.missing] for each in numeric if each.missing},
        variable_measure={each.name: measures.get(each.type, "nominal") for each in asked},
        variable_format={each.name: f"F10.{each.decimals}" for each in numeric},
    )
    return True


def write(folder: Path, *, count: int = 2000, seed: int = 50) -> list[str]:
    """Everything, and the names of the files."""
    folder.mkdir(parents=True, exist_ok=True)
    asked, answers = questions(), rows(count, seed)
    with (folder / "survey.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(answers)
        writer.writerows(zip(*answers.values(), strict=True))
    (folder / "survey.xml").write_text(ddi(asked), encoding="utf-8")
    with (folder / "codebook.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(sheet(asked))
    made = {"schema.json": table_schema(asked), "survey.csv-metadata.json": csvw(asked), "metadata.json": sdv(asked)}
    for name, content in made.items():
        (folder / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    names = ["survey.csv", "survey.xml", "codebook.csv", *made]
    return names + (["survey.sav"] if write_sav(folder / "survey.sav", asked, answers) else [])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=50)
    given = parser.parse_args()
    for written in write(given.folder, count=given.rows, seed=given.seed):
        print(given.folder / written)

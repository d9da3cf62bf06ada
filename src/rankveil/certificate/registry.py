"""An entry for the OpenDP registry of differential privacy deployments, from a certificate.

The registry keeps one YAML file for each deployment. Field names and choices are those of its schema as of September
2026 (opendp/deployments-registry-data); the schema itself is not part of rankveil. What only the organisation can say
is marked so, and the entry stays a draft of tier 2 until it has been said. No address of ours is written: the
registry's checks open every one they find.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from rankveil.certificate.content import Certificate
from rankveil.errors import GuaranteeError

CuratorType = Literal["Government", "Industry", "Nonprofit"]
CURATOR_TYPES: tuple[CuratorType, ...] = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
TO_ANSWER = "For the organisation to answer"
_VARIANTS = {False: "Pure DP", True: "Approximate DP"}


def registry_entry(certificate: Certificate, *, author: str, curator_type: CuratorType) -> dict[str, Any]:
    """What the registry asks, answered from the certificate."""
    if not certificate.differentially_private or not certificate.for_release:
        raise GuaranteeError(
            "The release is not differentially private, or a test: the registry lists differentially private ones.",
            remedy="Release with a method that gives a guarantee: rankveil methods.",
            cost="",
        )
    return {
        "url_slug": slug(certificate),
        "deployment": {
            "basic": _basic(certificate, curator_type),
            "dp_variant": _variant(certificate),
            "privacy_loss": _loss(certificate),
            "deployment_model": _model(certificate),
            "implementation": _implementation(certificate),
            "administrative": {"status": "Draft", "registry_authors": [author], "tier": 2},
        },
    }


def slug(certificate: Certificate) -> str:
    """For an address: small letters, digits and hyphens."""
    parts = [certificate.title or "protected-table", _said(certificate, "curator") or "", str(certificate.created.year)]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower()).strip("-")


def _said(certificate: Certificate, name: str) -> str | None:
    found = None if certificate.publication is None else getattr(certificate.publication, name)
    return None if found is None else str(found)


def _asked(certificate: Certificate, name: str, question: str) -> str:
    return _said(certificate, name) or f"{TO_ANSWER}: {question}"


def _basic(certificate: Certificate, curator_type: CuratorType) -> dict[str, Any]:
    period = _said(certificate, "period")
    made_up = certificate.method == "synthetic"
    sector = next((one for one in SECTORS if one.lower() == (_said(certificate, "sector") or "").lower()), None)
    described = (
        f"A protected version of a whole table: {certificate.rows:,} rows of {len(certificate.columns)} columns,"
        f" made by the method {certificate.method} of rankveil"
        + (", which draws them from noisy counts." if made_up else ".")
        + (f" Period: {period}." if period else "")
    )
    return {
        "name": certificate.title or f"{TO_ANSWER}: the name of the data product",
        "data_curators": [
            {
                "data_curator_name": _asked(certificate, "curator", "who publishes it"),
                "data_curator_type": curator_type,
            }
        ],
        "description": described,
        "intended_use": _asked(certificate, "purpose", "what it is meant to be used for"),
        "data_product_type": "Synthetic data" if made_up else "Dataset",
        "data_product_region": _asked(certificate, "region", "whom it is about, and whose law applies"),
        **({"data_product_sector": sector} if sector else {}),
        "publication_date": certificate.created.date().isoformat(),
    }


def _variant(certificate: Certificate) -> dict[str, Any]:
    kinds = ", ".join(f"{column.name} ({column.kind})" for column in certificate.columns)
    public = [column.name for column in certificate.columns if column.role == "public"]
    quantities = [
        *(["the number of rows"] if certificate.unit.rows_public else []),
        "what the plan states: columns, limits, labels, rules, ε and δ",
        *([f"the public columns, released as they are: {', '.join(public)}"] if public else []),
        *(["the order of the rows"] if certificate.row_aligned else []),
    ]
    return {
        "variant_name": _VARIANTS[_has_delta(certificate)],
        "data_domain": f"Tables with the columns {kinds}, within the limits and labels that the plan declares.",
        "unprotected_quantities": "\n".join(f"- {one}" for one in quantities),
    }


def _has_delta(certificate: Certificate) -> bool:
    return bool(Fraction(certificate.delta or 0))


def _loss(certificate: Certificate) -> dict[str, Any]:
    unit = certificate.unit
    parameters: dict[str, Any] = {"epsilon": float(Fraction(certificate.together or 0))}
    details = [certificate.statement, *([certificate.in_all] if certificate.in_all else [])]
    if _has_delta(certificate):
        parameters["delta"] = float(Fraction(certificate.delta or 0))
        shares = sum((Fraction(share.rho or 0) for share in certificate.shares), Fraction(0))
        if certificate.rho_accounting == "gaussian":
            details.append(
                f"The release is accounted as Gaussian differential privacy with μ²/2 = {float(shares):.6g}."
            )
        elif certificate.beside:  # else the entry would state ε of all that was published, and ρ of a part
            details.append(f"The release alone has ρ = {float(shares):.6g} of zero-concentrated differential privacy.")
        else:
            parameters["rho"] = float(shares)
    if certificate.meaning is not None:
        details += [
            f"A test between neighbouring tables with {attack.false_positive_percent} % false positives has at most"
            f" {attack.true_positive_percent} % true positives."
            for attack in certificate.meaning.attacks
        ]
    counted = unit.person is None  # rows are the units; their number is public, or the one released is noisy
    return {
        "privacy_unit": "Row-level" if counted else "Person-level",
        "privacy_unit_details": certificate.neighbours,
        **({"number_of_privacy_units": certificate.rows} if counted else {}),
        "privacy_parameters": parameters,
        "privacy_parameters_details": "\n".join(f"- {one}" for one in details),
    }


def _model(certificate: Certificate) -> dict[str, Any]:
    entry = "" if certificate.ledger is None else f" This one is entry {certificate.ledger.entry} of that ledger."
    return {
        "model_name": "Central",
        "model_name_details": "The curator holds the table and runs rankveil on it; what is released leaves, the rest"
        " stays.",
        "trust_assumptions": "Readers of the release are taken to know everything but one unit, and to compute without"
        f" limit. The curator is trusted with the table. {TO_ANSWER}: who else may see it, and why.",
        "actors": f"- The curator.\n- Everyone who gets the release.\n- {TO_ANSWER}: further actors.",
        "release_type": "One release",
        "release_type_details": "Releases of the same table or population are entered in one ledger before noise is"
        f" drawn, and add up.{entry} {TO_ANSWER}: whether further releases are planned.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
        "access_type_details": "Readers get files. Nobody can query the table.",
    }


def _implementation(certificate: Certificate) -> dict[str, Any]:
    mechanisms = dict.fromkeys(f"{share.column}: {share.mechanism}" for share in certificate.shares)
    theorems = ", ".join(f"{one.id} {one.title}" for one in certificate.theorems)
    expected = [f"{one.column}: {one.question}: {one.answer}" for one in certificate.expected or ()]
    expected += [line for each in certificate.published_accuracy or () for line in each.in_words()]
    files = [] if certificate.release is None else [f"{certificate.release.file} SHA-256 {certificate.release.sha256}"]
    files += [f"signed with the Ed25519 key {certificate.signed.key}"] if certificate.signed else ["not signed"]
    sector = _said(certificate, "sector")
    kept = [f"sector: {sector}"] if sector else []
    kept += [f"{name}: {said}" for name in ("licence", "contact", "notes") if (said := _said(certificate, name))]
    return {
        "preprocessing_and_hyperparameter_tuning": "Every value is turned into a code that depends on this value and"
        " the plan alone. Limits and labels come from the plan, which may hold no unconfirmed guess from the table."
        f" Constants of the method are the same for all tables. {TO_ANSWER}: how ε was chosen, and what had been looked"
        " at before.",
        "mechanisms": "\n".join(
            [
                *(f"- {one}" for one in mechanisms),
                f"- Implemented in rankveil {certificate.rankveil_version}.",
                "- Timing: not interactive; how long a run takes is not published.",
                "- Floating point: noise is drawn exactly, with integers and rational numbers; answers are integers.",
                "- Platform: randomness comes from the operating system's generator; a replay audit compares whole"
                " releases of neighbouring tables byte by byte.",
                f"- {TO_ANSWER}: how the table itself is kept, and who has access.",
            ]
        ),
        "composition": f"Adaptive composition of all shares, added exactly. Theorems: {theorems}.",
        "post_processing": "Everything after the noisy answers: models are fitted to them, and rows are drawn or put"
        " together from them, within the plan's limits and rules.",
        "justification": f"{TO_ANSWER}: why this ε, this unit and this method.",
        "utility": "\n".join(f"- {one}" for one in expected) or f"{TO_ANSWER}: what is known about accuracy.",
        "additional_information": "\n".join(f"- {one}" for one in [*files, *kept]),
    }


# YAML


def as_yaml(entry: Mapping[str, Any]) -> str:
    """Texts of several lines as blocks that keep their lines, as the registry asks; all others in quotes."""
    return "\n".join(_lines(entry, 0)) + "\n"


def _lines(content: Mapping[str, Any], depth: int) -> Iterator[str]:
    space = "  " * depth
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield f"{space}{key}:"
            yield from _lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{space}{key}:"
            for item in value:
                if isinstance(item, Mapping):
                    first, *rest = _lines(item, depth + 2)
                    yield f"{space}  - {first.strip()}"
                    yield from rest
                else:
                    yield f"{space}  - {_scalar(item)}"
        elif isinstance(value, str) and "\n" in value:
            yield f"{space}{key}: |-"
            yield from (f"{space}  {line}" for line in value.splitlines())
        else:
            yield f"{space}{key}: {_scalar(value)}"


def _scalar(value: Any) -> str:
    """JSON's form of texts and numbers is YAML's as well, but for an exponent without a point."""
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "e" in text and "." not in text:
        return text.replace("e", ".0e")
    return text

"""`rankveil certificate`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankveil.cli.output import PATH, harmless, json_option, print_json, print_table

if TYPE_CHECKING:
    from rankveil.certificate import Certificate


@click.command("certificate")
@click.argument("release", type=click.Path(exists=True, path_type=Path))
@click.option("--page", "form", flag_value="page", help="The page for people, as certificate.html has it.")
@click.option(
    "--registry", "form", flag_value="registry", help="An entry for the OpenDP registry of deployments (YAML)."
)
@click.option("--nist", "form", flag_value="nist", help="A page along the pyramid of NIST SP 800-226.")
@click.option("--author", help="--registry: who fills in the entry.")
@click.option(
    "--curator-type",
    type=click.Choice(["Government", "Industry", "Nonprofit"], case_sensitive=False),
    help="--registry: what the publisher is.",
)
@click.option("--out", type=PATH, help="Write it here instead of printing it; not into the folder of the release.")
@json_option
def command(
    release: Path, form: str | None, author: str | None, curator_type: Any, out: Path | None, as_json: bool
) -> None:
    """Show the certificate of RELEASE (its folder, or the certificate), or write a document made from it.

    Nothing but the certificate is read. What it cannot answer is marked as the organisation's to answer; [publication]
    in the plan answers more. The registry's entry keeps to its schema, and is a draft until somebody completes it.

    \b
      rankveil certificate 2031-q1/
      rankveil certificate 2031-q1/ --registry --author "A. Person" --curator-type government --out entry.yaml
      rankveil certificate 2031-q1/ --nist --out nist.html
    """
    from rankveil.certificate.registry import as_yaml
    from rankveil.verify.checks import read_certificate
    from rankveil.verify.numbers import Fails, number
    from rankveil.write import CERTIFICATE_NAME

    path = release / CERTIFICATE_NAME if release.is_dir() else release
    try:
        certificate = read_certificate(path)
    except Fails as failure:
        raise click.UsageError(f"{path} cannot be read: {failure}.") from None
    if form is None:
        if as_json:
            print_json(certificate.model_dump(mode="json"))
        else:
            if certificate.warning:
                click.echo(harmless(certificate.warning))
            print_table("", ["", ""], [list(fact) for fact in certificate.facts()])
        return
    if as_json and form != "registry":
        raise click.UsageError("--json is for the certificate itself, and for --registry.")
    try:
        for text in _exact_numbers(certificate):
            number(text)
        made = _made(certificate, form, author, curator_type)
    except (ValueError, ArithmeticError, Fails):
        raise click.UsageError(f"{path} cannot be used: a number in it is none.") from None
    if as_json:
        print_json(made)
    else:
        _put(made if isinstance(made, str) else as_yaml(made), out, path)


def _exact_numbers(certificate: Certificate) -> list[str | None]:
    """Of a stranger: 1e999999999 would be computed for hours."""
    numbers = [certificate.epsilon, certificate.delta, certificate.together]
    numbers += [text for share in certificate.shares for text in (share.epsilon, share.rho)]
    return [*numbers, *(each.epsilon for each in certificate.published_accuracy or ())]


def _made(certificate: Certificate, form: str, author: str | None, curator_type: str | None) -> str | dict[str, Any]:
    if form == "registry":
        from rankveil.certificate.registry import CURATOR_TYPES, registry_entry

        if author is None or curator_type is None:
            raise click.UsageError("--registry needs --author and --curator-type: no certificate knows them.")
        kind = next(one for one in CURATOR_TYPES if one.lower() == curator_type.lower())
        return registry_entry(certificate, author=author, curator_type=kind)
    if form == "nist":
        from rankveil.certificate.nist import nist_page

        return nist_page(certificate)
    from rankveil.certificate.page import page

    return page(certificate)


def _put(text: str, out: Path | None, certificate: Path) -> None:
    from rankveil.write import write_text

    if out is None:
        click.echo(text, nl=False)
        return
    if out.resolve().parent == certificate.resolve().parent:
        raise click.UsageError("--out lies in the folder of the release, whose files are listed. Choose another place.")
    write_text(out, text)
    click.echo(f"Wrote {out}")

"""``tally doctor``: checks of this installation."""

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    r"""Check this installation; the exit status is 1 if anything is wrong.

    \b
    Example:
      tally doctor
    """
    from tallywise.installation import examine

    findings = examine()
    problems = [finding for finding in findings if finding.problem]
    if as_json:
        click.echo(json.dumps({"ok": not problems, "findings": [finding._asdict() for finding in findings]}, indent=1))
    else:
        for finding in findings:
            click.echo(f"{finding.name:14} {finding.value}")
        click.echo()
        for finding in problems:
            click.echo(f"problem: {finding.name}: {finding.problem}")
        click.echo("no problem found" if not problems else f"{len(problems)} found")
    context.exit(1 if problems else 0)

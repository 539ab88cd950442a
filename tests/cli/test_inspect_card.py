"""``tally inspect --card`` prints a model card."""

from click.testing import CliRunner

from tallywise import TextClassifier
from tallywise.cli.inspect import command


def test_the_card_is_printed_and_is_not_json(tmp_path):
    path = tmp_path / "m.tally"
    TextClassifier("multinomial_nb", cv=2).fit(["a prize", "at noon"] * 10, ["spam", "ham"] * 10).save(path)
    done = CliRunner().invoke(command, [str(path), "--card"])
    assert done.exit_code == 0
    assert done.output.startswith("# Model card: m.tally\n")
    refused = CliRunner().invoke(command, [str(path), "--card", "--json"])
    assert refused.exit_code == 2
    assert "cannot be combined" in refused.output

"""Write the lists of docs/operations anew from the code: settings, metrics, error codes.

A test holds the pages against the code; this saves the typing when it complains.
"""

from pathlib import Path

from onelog.config import load
from onelog.errors import OnelogError
from onelog.metrics import METRICS

OPERATIONS = Path(__file__).resolve().parents[1] / "docs" / "operations"


def main() -> None:
    """Write all three pages."""
    _write(
        "settings.md",
        "# Settings\n\nA flag beats the variable `ONELOG_<SECTION>_<KEY>`, which beats the file that `--config`\n"
        "names, which beats the default. In the file a setting stands as `key = value` below `[section]`.\n"
        "`onelog config` shows what holds and who said so. Settings of topics: `onelog topics describe NAME`.\n\n"
        "| setting | default | unit | what it is |\n|---|---|---|---|\n",
        [f"| `{v.name}` | `{_shown(v.default)}` | {v.unit} | {v.help} |" for v in load(environ={}).values],
    )
    _write(
        "metrics.md",
        "# Metrics\n\nServed as `/metrics` on the console's port, in Prometheus' text form.\n\n"
        "| metric | kind | labels | what it counts |\n|---|---|---|---|\n",
        [f"| `{m.name}` | {m.kind.value} | {', '.join(m.labels)} | {m.help} |" for m in METRICS],
    )
    _write(
        "errors.md",
        "# Refusals\n\nEvery way in which a request cannot be granted. Each dialect spells each of them in its\n"
        "own words; `onelog` commands print them as they stand here.\n\n"
        "| code | try again? | what it says |\n|---|---|---|\n",
        [
            f"| `{k.code.value}` | {'yes' if k.retriable else 'no'} | {k.template.replace('{e.', '{').replace('|', '/')} |"
            for k in OnelogError.__subclasses__()
        ],
    )


def _write(name: str, head: str, rows: list[str]) -> None:
    OPERATIONS.mkdir(parents=True, exist_ok=True)
    (OPERATIONS / name).write_text(head + "\n".join(rows) + "\n", encoding="utf-8")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value != "" else "-"


if __name__ == "__main__":
    main()

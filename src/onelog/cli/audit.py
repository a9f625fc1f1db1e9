"""onelog audit: a landed table against the log. What it does is in audit_report.py."""

import argparse

from onelog.cli.arguments import add_broker, whole
from onelog.cli.output import needs_extra

FINDINGS_MAX = 20
TIMEOUT_S = 30.0


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("table", metavar="TABLE", help="the folder of the table")
    parser.add_argument(
        "--findings",
        metavar="N",
        type=whole(0),
        default=FINDINGS_MAX,
        help="how many records to name; all are counted (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    add_broker(parser)
    parser.set_defaults(timeout=TIMEOUT_S)


def run(args: argparse.Namespace) -> int:
    """Audit, print, and say by the exit code whether it is clean."""
    needs_extra("spark", "pyarrow", "deltalake")
    from onelog.cli.audit_report import run_audit  # here, because it loads Arrow

    return run_audit(args)

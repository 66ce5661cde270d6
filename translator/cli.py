"""The command line: finds the subcommands, reads the arguments, prints errors as one line.

Exit status: 0 success, 2 an error that the user can mend, 130 interrupted. An exception of
another kind is a fault of the program and shows its traceback.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

from translator import commands
from translator.errors import TranslatorError, explain_os_error

PROGRAM = "translator"
DESCRIPTION = "Prepare parallel text, train a Transformer on it, measure it and translate with it."
#: In this order in --help; a command that is not named here comes last.
ORDER = ("prepare", "train", "evaluate", "translate", "export", "take", "web", "bench")
EPILOGUE = """\
examples:
  python -m translator prepare                    prepare the embedded grammar corpus
  python -m translator COMMAND --help             arguments and examples of one command
"""


def command_names() -> list[str]:
    """Return the names of the subcommands: the modules in `translator.commands`."""
    names = [module.name for module in pkgutil.iter_modules(commands.__path__)]
    return sorted(
        (name for name in names if not name.startswith("_")),
        key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name),
    )


def command(name: str) -> ModuleType:
    """Return the module of a subcommand."""
    return importlib.import_module(f"{commands.__name__}.{name}")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog=f"python -m {PROGRAM}",
        description=DESCRIPTION,
        epilog=EPILOGUE,
        formatter_class=layout,
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in command_names():
        module = command(name)
        subparser = subparsers.add_parser(
            name,
            help=module.HELP,
            description=module.HELP,
            epilog=f"examples:\n{module.EXAMPLES}",
            formatter_class=layout,
        )
        module.add_arguments(subparser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status; argv: as in sys.argv[1:]."""
    try:
        args = build_parser().parse_args(argv)
    except SystemExit as stop:  # argparse has printed its line, or the help
        return stop.code if isinstance(stop.code, int) else 2
    if sys.stdout is None:
        return _fail("standard output is closed")
    try:
        status = command(args.command).run(args)
        sys.stdout.flush()
        return status or 0
    except TranslatorError as error:
        return _fail(str(error))
    except BrokenPipeError:
        # The reader has gone, as in `… | head`: say nothing, also when Python closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        return _fail(
            f"the output is {error.encoding}, which has no {letter!a}: "
            "set PYTHONIOENCODING=utf-8"
        )
    except OSError as error:
        return _fail(explain_os_error(error))
    except KeyboardInterrupt:
        print(f"{PROGRAM}: interrupted", file=sys.stderr)
        return 130


def _fail(message: str) -> int:
    line = " ".join(message.split())
    print(f"{PROGRAM}: error: {line}", file=sys.stderr)
    return 2

"""The command line: Django's, except that its help lists our commands instead of all of Django's."""

from argparse import ArgumentTypeError
from difflib import get_close_matches
from typing import Any

from django.conf import settings
from django.core.management import ManagementUtility, get_commands
from django.core.management.base import BaseCommand, CommandParser

from streamviz.environment import COMMAND
from streamviz.faults import Fault

# In the order in which people need them. A server starts `screens` itself.
OURS = (
    "up demo serve write migrate createsuperuser changepassword key export import delete_session retention verify"
    " store_again backtest aggregate seed_history upgrade_postgres"
).split()


class CommandLine(ManagementUtility):
    """One call of `manage.py` or `streamviz`."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """Our commands with their descriptions; if `commands_only`, the names of all, Django's too."""
        if commands_only:
            return super().main_help_text(commands_only)
        usage = f"usage: [SETTING=VALUE ...] {COMMAND} COMMAND [--help]\n"
        listed = [f"  {name:<17} {self.fetch_command(name).help}" for name in OURS]
        more = "\nSettings come from the environment, as in PORT=8080; README.md lists them."
        return "\n".join([usage, *listed, more, f"Django's commands too: `{COMMAND} help --commands`."])

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Raises Fault if there is no such command."""
        if settings.INSTALLED_APPS and subcommand not in get_commands():  # Django reports invalid settings first
            raise Fault(f"There is no command {subcommand!r}. {_instead_of(subcommand)}")
        # With this Django raises a CommandError, which `main` tells as it tells any other fault.
        self.argv = [*self.argv[:2], "--traceback", *self.argv[2:]]
        return super().fetch_command(subcommand)


class SetByEnvironment(BaseCommand):
    """A command that takes no arguments. If it is given any, the error shows how to set it by the environment."""

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        usage = f"[SETTING=VALUE ...] {COMMAND} {subcommand}, as in: PORT=8080 {COMMAND} {subcommand}"
        return super().create_parser(prog_name, subcommand, usage=usage, **kwargs)


def utf8(argument: str) -> str:
    """The type of arguments that Postgres is asked for. Raises ArgumentTypeError for what a terminal sends that is set
    to another encoding."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise ArgumentTypeError(f"{argument!a} is not UTF-8") from None
    return argument


def _instead_of(name: str) -> str:
    if close := get_close_matches(name, OURS, n=1):
        return f"Did you mean `{COMMAND} {close[0]}`?"
    return f"`{COMMAND} up` starts everything, `{COMMAND} help` lists the commands."

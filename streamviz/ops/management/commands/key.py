"""`python manage.py key create|list|revoke`: the proxy's API keys, as on the Keys page."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from streamviz.dashboard.forms import KeyForm, wrong_with
from streamviz.ops.command_line import utf8
from streamviz.ops.handing_over import has_terminal, write_secret
from streamviz.records.models import ApiKey


class Command(BaseCommand):
    """A key's secret is shown once: on a terminal, or in a file that only its owner can read."""

    help = "Create, list and revoke API keys."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a key and show it once")
        create.add_argument("name", type=utf8)
        create.add_argument(
            "--models",
            type=utf8,
            default="",
            help="models this key may call: comma-separated, * and ? are wildcards; default: all",
        )
        create.add_argument(
            "--provider", type=utf8, default="", help="provider for calls to other endpoints that do not name one"
        )
        create.add_argument("--file", type=Path, help="write the key to this new file (0600) instead of the terminal")
        actions.add_parser("list", help="list all keys, without their secrets")
        actions.add_parser("revoke", help="revoke a key, at once").add_argument("name", type=utf8)

    def handle(self, *args: Any, **options: Any) -> None:
        getattr(self, f"_{options['action']}")(options)

    def _create(self, options: dict[str, Any]) -> None:
        file: Path | None = options["file"]
        if file is None and not has_terminal():
            raise CommandError("A key is shown only on a terminal. To write it to a new file instead, use --file PATH.")
        if file is not None and file.exists():
            raise CommandError(f"{file} already exists; a key is written only to a new file.")
        told = _checked(options)
        _, secret = ApiKey.objects.issue(told["name"], None, told["models_scope"], told["default_provider"])
        if file is None:
            self.stdout.write(f"{secret}\nIt won't be shown again.")
            return
        try:
            write_secret(file, secret)
        except OSError as error:
            ApiKey.objects.filter(name=told["name"]).delete()
            raise CommandError(f"No key was created: {file} cannot be written: {error.strerror}.") from None
        self.stdout.write(f"The key {told['name']} is in {file}.")

    def _list(self, options: dict[str, Any]) -> None:
        for key in ApiKey.objects.order_by("created_at"):
            state = f"revoked {key.revoked_at:%Y-%m-%d}" if key.revoked_at else "active"
            models, provider = key.models_scope or "all models", key.default_provider or "-"
            shown = (key.name, f"{key.prefix}…", state, f"{key.created_at:%Y-%m-%d}", models, provider)
            self.stdout.write("\t".join(shown))

    def _revoke(self, options: dict[str, Any]) -> None:
        key = ApiKey.objects.filter(name=options["name"]).first()
        if key is None:
            raise CommandError(f"There is no key named {options['name']}.")
        key.revoke()
        self.stdout.write(f"{key.name} is revoked.")


def _checked(options: dict[str, Any]) -> dict[str, str]:
    """The options as the Keys page would accept them. Raises CommandError if it would not."""
    asked = {"name": options["name"], "models_scope": options["models"], "default_provider": options["provider"]}
    form = KeyForm(asked)
    if not form.is_valid():
        raise CommandError(wrong_with(form))
    return form.cleaned_data

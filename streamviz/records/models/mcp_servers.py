"""The MCP servers whose tools runs may use."""

import shlex

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models

from streamviz.core.base_urls import wrong_with_url
from streamviz.executors.mcp_tools import McpServer as KnownMcpServer
from streamviz.records.models.policies import words


class McpServer(models.Model):
    """A program that this server starts, or an address. Credentials are in the environment; only their names are stored
    here.

    A command runs as the user that runs streamviz, so only administrators may set one.
    """

    name = models.CharField(
        max_length=40,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9_-]*$", "Lowercase letters, digits, - and _.")],
        help_text="A tool of the server “files” is called mcp__files__ and its name.",
    )
    command = models.CharField(
        max_length=1000, blank=True, help_text="A program and its arguments, which speaks MCP on its standard input."
    )
    url = models.CharField("URL", max_length=500, blank=True, help_text="Or an address that speaks streamable HTTP.")
    variables = models.CharField(
        max_length=500, blank=True, help_text="The environment variables that the program gets, comma-separated."
    )
    credential = models.CharField(
        max_length=100, blank=True, help_text="The environment variable that the address gets as a bearer token."
    )
    tools = models.CharField(
        max_length=1000,
        help_text="The tools that may be used, by the server's names for them, with * and ?, comma-separated.",
    )
    is_enabled = models.BooleanField("enabled", default=True)

    class Meta:
        ordering = ["name"]
        verbose_name = "MCP server"

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Raises ValidationError unless it has either a usable command or a usable URL, and for a name with which one
        of its tools could get the same name as another server's."""
        if "__" in self.name or self.name.endswith("_"):
            raise ValidationError(
                {"name": "It may not contain two _ in a row or end with one: they precede a tool's name."}
            )
        if bool(self.command.strip()) == bool(self.url):
            raise ValidationError("It needs either a command or a URL.")
        if self.url and (why := wrong_with_url(self.url)):
            raise ValidationError({"url": f"It {why}."})
        try:
            known = self.as_known()
        except ValueError as error:
            raise ValidationError({"command": f"It cannot be read: {error}."}) from error
        if known.tells_secret:
            raise ValidationError({"url": "A credential is sent only over https://, or to this machine."})

    def as_known(self) -> KnownMcpServer:
        """The server as runs use it."""
        return KnownMcpServer(
            self.name,
            tuple(shlex.split(self.command)),
            self.url,
            words(self.variables),
            self.credential,
            words(self.tools),
        )

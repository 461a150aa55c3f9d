"""The MCP servers whose tools runs may use; workers are told when one changes."""

import django.core.validators
from django.db import migrations, models

NOTIFY = """
CREATE TRIGGER streamviz_changed AFTER INSERT OR UPDATE OR DELETE ON records_mcpserver
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""


class Migration(migrations.Migration):
    dependencies = [("records", "0033_runs")]

    operations = [
        migrations.CreateModel(
            "McpServer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        help_text="A tool of the server “files” is called mcp__files__ and its name.",
                        max_length=40,
                        unique=True,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9][a-z0-9_-]*$", "Small letters, digits, - and _."
                            )
                        ],
                    ),
                ),
                (
                    "command",
                    models.CharField(
                        blank=True,
                        help_text="A program and its arguments, which speaks MCP on its standard input.",
                        max_length=1000,
                    ),
                ),
                (
                    "url",
                    models.CharField(
                        blank=True,
                        help_text="Or an address that speaks streamable HTTP.",
                        max_length=500,
                        verbose_name="URL",
                    ),
                ),
                (
                    "variables",
                    models.CharField(
                        blank=True,
                        help_text="The environment variables that the program gets, comma separated.",
                        max_length=500,
                    ),
                ),
                (
                    "credential",
                    models.CharField(
                        blank=True,
                        help_text="The environment variable that the address gets as a bearer token.",
                        max_length=100,
                    ),
                ),
                (
                    "tools",
                    models.CharField(
                        help_text="The tools that may be used, by the server's names for them, with * and ?,"
                        " comma separated.",
                        max_length=1000,
                    ),
                ),
                ("is_enabled", models.BooleanField(default=True, verbose_name="enabled")),
            ],
            options={"ordering": ["name"], "verbose_name": "MCP server"},
        ),
        migrations.RunSQL(NOTIFY, "DROP TRIGGER streamviz_changed ON records_mcpserver"),
    ]

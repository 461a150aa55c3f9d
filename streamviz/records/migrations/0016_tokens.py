"""Tokens with their cached and reasoning parts, which of them are estimates, and usage that clients did not ask for."""

from django.db import migrations, models

from streamviz.records.migrations import _tokens


class Migration(migrations.Migration):
    dependencies = [("records", "0001_squashed_0015")]

    operations = [
        migrations.AddField("halfhour", "cached_tokens", models.BigIntegerField(default=0)),
        migrations.AddField("halfhour", "estimated", models.BigIntegerField(default=0)),
        migrations.AddField(
            "stream", "cache_read_tokens", models.BigIntegerField(null=True, help_text="Of its input tokens.")
        ),
        migrations.AddField(
            "stream", "cache_written_tokens", models.BigIntegerField(null=True, help_text="Of its input tokens.")
        ),
        migrations.AddField(
            "stream", "reasoning_tokens", models.BigIntegerField(null=True, help_text="Of its output tokens.")
        ),
        migrations.AddField(
            "stream",
            "is_estimated",
            models.BooleanField(default=False, help_text="Its provider reported no token counts; these are estimates."),
        ),
        migrations.AddField(
            "stream",
            "hides_usage",
            models.BooleanField(
                default=False,
                help_text="Its client did not ask for usage: it got upstream's chunks without `usage: null`.",
            ),
        ),
        migrations.RemoveIndex("stream", "stream_newest"),
        migrations.AddIndex(
            "stream",
            models.Index(
                fields=["-requested_at", "-id"],
                include=[
                    *("outcome", "requested_model", "provider", "key", "session"),
                    *("input_tokens", "output_tokens", "cost", "ended_at", "cache_read_tokens", "is_estimated"),
                ],
                name="stream_newest",
            ),
        ),
        migrations.RunSQL([_tokens.ADD_UP, _tokens.WITHOUT_USAGE]),
        migrations.RunPython(_tokens.count_anew, migrations.RunPython.noop),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0034_mcp_servers"),
    ]

    operations = [
        migrations.AlterField(
            model_name="block",
            name="kind",
            field=models.CharField(
                choices=[
                    ("content", "content"),
                    ("thinking", "thinking"),
                    ("tool_call", "tool_call"),
                    ("refusal", "refusal"),
                    ("media", "media"),
                    ("other", "other"),
                ],
                max_length=20,
            ),
        ),
    ]

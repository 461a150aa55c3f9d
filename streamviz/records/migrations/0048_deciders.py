"""Notify workers when it changes who may decide by hand."""

from django.db import migrations

NOTIFY = """
CREATE TRIGGER streamviz_changed AFTER DELETE OR UPDATE OF username, is_active, is_superuser ON auth_user
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_user_groups
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_user_user_permissions
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
CREATE TRIGGER streamviz_changed AFTER INSERT OR DELETE ON auth_group_permissions
    FOR EACH STATEMENT EXECUTE FUNCTION streamviz_notify();
"""
UNDO = """
DROP TRIGGER streamviz_changed ON auth_user;
DROP TRIGGER streamviz_changed ON auth_user_groups;
DROP TRIGGER streamviz_changed ON auth_user_user_permissions;
DROP TRIGGER streamviz_changed ON auth_group_permissions;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("records", "0047_session_age"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunSQL(NOTIFY, UNDO)]

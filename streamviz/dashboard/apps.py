from django.apps import AppConfig, apps
from django.db.models.signals import m2m_changed, post_migrate


class DashboardConfig(AppConfig):
    name = "streamviz.dashboard"

    def ready(self) -> None:
        # Models may be imported once all apps are ready, not before.
        from django.contrib.auth.models import User

        from streamviz.dashboard import roles

        # Sent for apps that have models, once their permissions exist.
        post_migrate.connect(roles.ensure_roles, sender=apps.get_app_config("records"))
        m2m_changed.connect(roles.keep_staff_in_step, sender=User.groups.through)

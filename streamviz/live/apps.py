from django.apps import AppConfig


class LiveConfig(AppConfig):
    name = "streamviz.live"

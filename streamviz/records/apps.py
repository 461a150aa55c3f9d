from django.apps import AppConfig


class RecordsConfig(AppConfig):
    name = "streamviz.records"
    verbose_name = "Configuration"

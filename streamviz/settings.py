"""Django's settings. Everything that differs between machines comes from the environment; README.md has the table."""

import sys
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from streamviz import environment
from streamviz.core.base_urls import is_loopback
from streamviz.core.bounds import MIB, Bounds
from streamviz.dashboard import admin_look
from streamviz.ops import embedded_postgres
from streamviz.records import database_settings
from streamviz.records.archive.setting import archive
from streamviz.records.journal.room import Limits
from streamviz.records.rules import Privacy, Retention

PACKAGE, IS_CLONE = environment.PACKAGE, environment.IS_CLONE
# Templates and static files are next to the package in a clone, and inside it when installed.
BASE_DIR = PACKAGE.parent if IS_CLONE else PACKAGE
# Where our own processes run, and the folder to which a relative VAR_DIR is relative.
WORKING_DIR = BASE_DIR if IS_CLONE else Path.cwd()
# How they are started: a clone has the package in that folder; otherwise nothing may be imported from there.
PYTHON = [sys.executable] if IS_CLONE else [sys.executable, "-P"]
VAR_DIR = (WORKING_DIR / (environment.text("VAR_DIR") or ("var" if IS_CLONE else environment.data_home()))).resolve()

HOST = environment.host("HOST", "127.0.0.1")
PORT = environment.port("PORT", 8000)
PUBLIC = not is_loopback(HOST)
DEBUG = environment.flag("DEBUG", default=False)
if PUBLIC and DEBUG:
    raise ImproperlyConfigured(f"HOST={HOST} can be reached from other machines: DEBUG must be off. Unset DEBUG.")

SECRET_KEY = environment.secret("SECRET_KEY", least=32)
if not SECRET_KEY and PUBLIC:
    raise ImproperlyConfigured(
        f"HOST={HOST} can be reached from other machines: SECRET_KEY must be set, to a long random text that is kept "
        "secret."
    )
SECRET_KEY = SECRET_KEY or environment.kept_secret(VAR_DIR / "secret_key")

LOOPBACK_NAMES = ["localhost", "127.0.0.1", "[::1]"]
ALLOWED_HOSTS = environment.hosts("ALLOWED_HOSTS") or [*LOOPBACK_NAMES, f"[{HOST}]" if ":" in HOST else HOST]
CSRF_TRUSTED_ORIGINS = environment.origins("CSRF_TRUSTED_ORIGINS")

# Proxies that are trusted to say where a request comes from, and whether it came by https.
TRUSTED_PROXIES = environment.networks("TRUSTED_PROXIES")

# The path below which a proxy serves everything; cookies are limited to it.
BASE_PATH = environment.base_path("BASE_PATH")
FORCE_SCRIPT_NAME = BASE_PATH or None
SESSION_ENGINE = "streamviz.dashboard.cookies"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{BASE_PATH}/"

# Browsers connect only by https, which a proxy in front of the server handles.
HTTPS = environment.flag("HTTPS", default=False)
if HTTPS and not TRUSTED_PROXIES:
    raise ImproperlyConfigured("HTTPS=1 needs TRUSTED_PROXIES, the address of the proxy that terminates TLS.")
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if HTTPS else 0
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = environment.flag("SECURE_COOKIES", default=PUBLIC or HTTPS)
# Whether other services below the domain use https, and whether browsers preload that, is not for streamviz to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

SIMULATOR_PORT = environment.port("SIMULATOR_PORT", 8001)
SIMULATOR_URL = environment.address("SIMULATOR_URL", f"http://127.0.0.1:{SIMULATOR_PORT}")

# Clients send their own provider credential, which is passed on and never stored; our key is in x-streamviz-key.
CLIENT_CREDENTIALS = environment.flag("CLIENT_CREDENTIALS", default=False)

# The token that allows reading /metrics from other machines, and where this machine's processes count its figures.
METRICS_TOKEN = environment.secret("METRICS_TOKEN", least=16)
METRICS_DIR = VAR_DIR / "metrics"

# Where an OpenTelemetry collector gets spans of streams; its exporter reads its other settings itself. And whether
# spans have what was said, too.
OTLP_ENDPOINT = environment.address("OTEL_EXPORTER_OTLP_ENDPOINT")
CAPTURE_CONTENT = environment.flag("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", default=False)
if OTLP_ENDPOINT:
    if not environment.is_installed("opentelemetry.exporter.otlp.proto.http"):
        environment.miss("OTEL_EXPORTER_OTLP_ENDPOINT", "OpenTelemetry", "opentelemetry-exporter-otlp-proto-http")
    environment.choice("OTEL_EXPORTER_OTLP_PROTOCOL", ("http/protobuf",), "http/protobuf")

# Whether administrators may make links through which anybody can read a stream or a session.
PUBLIC_LINKS = environment.flag("PUBLIC_LINKS", default=False)

# Whether the bodies of requests that pass through unread are kept; sizes and times always are.
STORE_PASSED_THROUGH = environment.flag("STORE_PASSED_THROUGH", default=False)

# Sites whose pages may call models from a browser, with a key of their own; `*` for all.
CORS_ORIGINS = frozenset(environment.origins("CORS_ORIGINS", may_be_all=True))

# How many streams' events one key or one user may read at once from one server, and all of them together: reading a
# running stream takes about a hundredth of a core.
EVENT_READERS = environment.count("EVENT_READERS", 16)
EVENT_READERS_TOTAL = environment.count("EVENT_READERS_TOTAL", 64)

# An upstream that is silent for this long is given up.
UPSTREAM_SILENCE_SECONDS = environment.seconds("UPSTREAM_SILENCE_SECONDS", 300.0)

# A client that accepts nothing that it is sent for this long is cut off.
CLIENT_SILENCE_SECONDS = environment.seconds("CLIENT_SILENCE_SECONDS", 120.0)

# No request, answer or single event may be longer. An answer may not have more events: a few kB of compressed ones can
# be millions, and each is recorded. Nor may it have more blocks: each takes tens of µs to read, and all may be in one
# event. What is parsed at once may not have more JSON values: each takes some 0.3 µs.
MAX_REQUEST_BYTES = int(environment.amount("MAX_REQUEST_MB", 32, "a number of megabytes") * MIB)
ANSWER_BOUNDS = Bounds(
    answer_bytes=int(environment.amount("MAX_ANSWER_MB", 256, "a number of megabytes") * MIB),
    event_bytes=int(environment.amount("MAX_EVENT_MB", 32, "a number of megabytes") * MIB),
    events=environment.count("MAX_EVENTS", 500_000, least=1),
    blocks=environment.count("MAX_BLOCKS", 20_000, least=1),
    values=environment.count("MAX_VALUES", 200_000, least=1),
)

# What workers have recorded and the writer has not stored yet.
JOURNAL_DIR = VAR_DIR / "journal"
JOURNAL_LIMITS = Limits(
    most_bytes=int(environment.amount("JOURNAL_MAX_MB", 4096, "a number of megabytes") * 2**20),
    most_seconds=environment.amount("JOURNAL_MAX_HOURS", 48, "a number of hours") * 3600,
    refuses=environment.choice("JOURNAL_FULL", ("refuse", "unrecorded"), "refuse") == "refuse",
)

# Processes that run hooks of policies that may take long, and how much memory each may use beyond its own size.
POLICY_PROCESSES = environment.count("POLICY_PROCESSES", 2, least=1)
POLICY_MEMORY_MB = environment.count("POLICY_MEMORY_MB", 512, least=64)

# Whether a server moves what it has loaded to pages of 2 MB, which takes a few tenths of a second at its start.
HUGE_PAGES = environment.flag("HUGE_PAGES", default=True)

RETENTION = Retention(
    chunk_days=environment.days("RETAIN_CHUNK_DAYS", 14),
    stream_days=environment.days("RETAIN_STREAM_DAYS", 180),
    kept_days=environment.days("RETAIN_KEPT_DAYS", 0),
)
ARCHIVE = archive(RETENTION.chunk_days)
PRIVACY = Privacy(
    keeps_requests=environment.flag("STORE_REQUESTS", default=True),
    shapes_of_models=tuple(environment.words("SHAPES_ONLY_MODELS")),
    shapes_of_keys=tuple(environment.words("SHAPES_ONLY_KEYS")),
)

# How long running streams may go on once the server is told to stop.
STOP_GRACE_SECONDS = environment.seconds("STOP_GRACE_SECONDS", 8.0)

INSTALLED_APPS = [
    "unfold",  # before the admin, whose templates it replaces
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "django_htmx",
    "streamviz.records",
    "streamviz.proxy",
    "streamviz.live",
    "streamviz.dashboard",
    "streamviz.ops",
]

MIDDLEWARE = [
    "streamviz.dashboard.middleware.connection_given_back",
    "streamviz.dashboard.replica_reads.changes_marked",
    "django.middleware.security.SecurityMiddleware",
    "streamviz.dashboard.middleware.content_security_set",
    "streamviz.dashboard.middleware.forms_led_up",
    "streamviz.dashboard.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

ROOT_URLCONF = "streamviz.urls"
ASGI_APPLICATION = "streamviz.serving.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["streamviz.live.templates.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

EMBEDDED_POSTGRES_DIR = VAR_DIR / "postgres"
EMBEDDED_POSTGRES = not environment.text("DATABASE_URL")
_DATABASE = database_settings.postgres("DATABASE_URL") or embedded_postgres.django_settings(EMBEDDED_POSTGRES_DIR)
_POOL = environment.count("DATABASE_POOL", 0)
DATABASES = {"default": database_settings.pooled(_DATABASE, _POOL)}
# A replica's connection that has gone silent holds up a page no longer than a new one would.
_ANSWERING = database_settings.REPLICA_TIMEOUT_SECONDS, database_settings.REPLICA_TIMEOUT_SECONDS
if _REPLICA := database_settings.postgres("DATABASE_REPLICA_URL", *_ANSWERING):
    if EMBEDDED_POSTGRES:
        raise ImproperlyConfigured("DATABASE_REPLICA_URL needs a DATABASE_URL: the embedded Postgres has no replicas.")
    _REPLICA["TEST"] = {"MIRROR": "default"}
    # Connections are not checked first, because with a hanging server that never ends; if one fails, the primary is
    # asked.
    _POOLED = database_settings.pooled(_REPLICA, _POOL, database_settings.REPLICA_TIMEOUT_SECONDS)
    DATABASES["replica"] = {**_POOLED, "CONN_HEALTH_CHECKS": False}
    DATABASE_ROUTERS = ["streamviz.records.replica.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# How many servers share the port, and what `serve` tells those that it starts: its socket, which of them each one is,
# the file in which they count their connections, and the hub between them.
WORKERS = environment.workers("WORKERS")
LISTENER = environment.text("STREAMVIZ_LISTENER")
SERVER = environment.count("STREAMVIZ_SERVER", 0)
SHARES = environment.text("STREAMVIZ_SHARES")
HUB = environment.text("STREAMVIZ_HUB")

REDIS_URL = environment.redis("REDIS_URL")
HAS_PEERS = bool(REDIS_URL or HUB)
if REDIS_URL:
    _LAYER = environment.redis_layer(REDIS_URL, SECRET_KEY)
elif HUB:
    _LAYER = {"BACKEND": "streamviz.live.hub.HubLayer", "CONFIG": {"path": HUB}}
else:
    _LAYER = {"BACKEND": "channels.layers.InMemoryChannelLayer"}
CHANNEL_LAYERS = {"default": _LAYER}

UNFOLD = admin_look.UNFOLD
MESSAGE_STORAGE = "streamviz.dashboard.cookies.MessageCookies"

CSRF_FAILURE_VIEW = "streamviz.dashboard.views.errors.stale_form"
LOGIN_URL = "sign_in"
LOGIN_REDIRECT_URL = "live"
LOGOUT_REDIRECT_URL = "sign_in"  # for the admin
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

STATIC_URL = f"{BASE_PATH}/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # files are served from where they are, so there is no collectstatic step

LOG_LEVEL = environment.choice("LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR"), "INFO")
LOG_FORMAT = environment.choice("LOG_FORMAT", ("text", "json"), "text")
ACCESS_LOG = environment.flag("ACCESS_LOG", default=False)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "broken_off": {"()": "streamviz.serving.broken_off.BrokenOff"},
        "not_shown": {"()": "streamviz.serving.broken_off.NotShown"},
    },
    "formatters": {"text": {"()": "streamviz.logs.LineFormatter"}, "json": {"()": "streamviz.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Django would otherwise add handlers of its own; the others report every connection at INFO.
        "django": {"handlers": [], "level": LOG_LEVEL, "propagate": True},
        "django.request": {"filters": ["not_shown"]},
        "django.server": {"handlers": [], "propagate": True},
        # It would log a traceback at ERROR for every scanner; the error page's own log line is enough.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # It would do so for every form that is too long, too, which strangers may send as well.
        "django.security.RequestDataTooBig": {"filters": ["not_shown"]},
        "django.security.TooManyFieldsSent": {"filters": ["not_shown"]},
        "django.security.TooManyFilesSent": {"filters": ["not_shown"]},
        "daphne.server": {"filters": ["broken_off"]},
        "streamviz.access": {"level": "INFO" if ACCESS_LOG else "WARNING"},
        # It logs every batch that a collector refuses; we say so once a minute.
        "opentelemetry": {"level": "CRITICAL"},
        # It logs whatever servers send that is not a message; what matters of it is in the run's thinking.
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},  # for its sessions
        # It logs the URL of every call, which may contain a secret.
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        # Below WARNING it logs ids, headers and options of calls.
        "openai": {"level": "WARNING"},
        # Below WARNING it logs the headers of signed requests.
        "botocore": {"level": "WARNING"},
        # Below WARNING it logs what pages show.
        "django.template": {"level": "WARNING"},
        "daphne": {"level": "WARNING"},
        "twisted": {"level": "WARNING"},
        "asyncio": {"level": "WARNING"},
        "channels_redis": {"level": "CRITICAL"},  # every second while Redis is away; we say so once a minute
    },
}

environment.refuse_misspelt()

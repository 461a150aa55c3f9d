FROM python:3.13-slim-bookworm

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app

# Packages change less often than the code, so they get a layer of their own.
COPY requirements/run.txt requirements/run.txt
RUN pip install --no-deps --require-hashes -r requirements/run.txt

# pyproject.toml has the version.
COPY manage.py pyproject.toml ./
COPY streamviz streamviz
COPY templates templates
COPY static static

RUN useradd --system --uid 10001 --create-home streamviz && mkdir var && chown streamviz var
USER streamviz
VOLUME /app/var
EXPOSE 8000

# The exec form: Python must be PID 1 to get the signal to stop.
CMD ["python", "manage.py", "up"]

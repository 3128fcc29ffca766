# The sample controller's image: Python, the library's run-time dependencies, controller/, generated/ and main.py.
ARG PYTHON_VERSION=3.11

FROM python:${PYTHON_VERSION}-slim AS build
# Without pip: nothing installs anything in the finished image.
RUN python -m venv --without-pip /opt/venv
WORKDIR /src
COPY pyproject.toml setup.cfg README.md LICENSE ./
COPY clientgo clientgo
RUN pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check .
WORKDIR /app
COPY main.py ./
COPY controller controller
COPY generated generated
# Compiled here, because the running container may not write. Files of an image never change, so Python need not compare.
RUN python -m compileall -q --invalidation-mode unchecked-hash controller generated

FROM python:${PYTHON_VERSION}-slim
LABEL org.opencontainers.image.title="sample-controller" \
      org.opencontainers.image.description="Foo to Deployment: the sample controller, in Python" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
USER 65532:65532
ENTRYPOINT ["/opt/venv/bin/python", "main.py"]

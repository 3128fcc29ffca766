# The sample controller's image: Python, the locked run-time dependencies, the library, controller/, generated/, main.py.
#
# Builds are reproducible: every package is locked with hashes, no step writes a timestamp or a random number, and
# PYTHON_IMAGE can be pinned by digest (docs/image.md).
ARG PYTHON_IMAGE=python:3.11-slim

FROM ${PYTHON_IMAGE} AS build
# Without pip: the finished image installs nothing.
RUN python -m venv --without-pip /opt/venv
WORKDIR /src
COPY hack/requirements.lock hack/requirements-build.lock hack/
# Wheels only, so that no package runs code here. pip would compile with timestamps.
RUN pip install --no-cache-dir --disable-pip-version-check --target /opt/build --only-binary :all: --require-hashes \
        --requirement hack/requirements-build.lock && \
    pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check --no-compile \
        --only-binary :all: --require-hashes --requirement hack/requirements.lock
COPY pyproject.toml setup.cfg README.md LICENSE ./
COPY clientgo clientgo
RUN PYTHONPATH=/opt/build pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check \
        --no-compile --no-deps --no-index --no-build-isolation .
WORKDIR /app
COPY main.py ./
COPY controller controller
COPY generated generated
# Compile now, because the container cannot write. Files of an image never change, so Python need not check them.
# All files (-f): modules imported by the steps above are already compiled, with timestamps. Not the official client, which
# only an auth provider of a kubeconfig needs: 50 MB.
RUN python -m compileall -qf --invalidation-mode unchecked-hash -x /site-packages/kubernetes/ /opt/venv/lib controller generated

FROM ${PYTHON_IMAGE}
ARG VERSION=unknown
ARG REVISION=unknown
ARG SOURCE=unknown
LABEL org.opencontainers.image.title="sample-controller" \
      org.opencontainers.image.description="Foo to Deployment: the sample controller, in Python" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.source="${SOURCE}"
ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
USER 65532:65532
ENTRYPOINT ["/opt/venv/bin/python", "main.py"]

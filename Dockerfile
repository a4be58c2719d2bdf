# The control plane as a container image: a small Debian with Python, and Tidegate in a virtual environment of its own.
# It runs as a user without rights, writes below /var/lib/tidegate only, and needs no writable root.
FROM python:3.12-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src

# What it needs, with hashes, comes before the code: a change of the code leaves this layer as it is.
COPY requirements/serve.lock requirements/build.lock requirements/
RUN python -m venv --without-pip /opt/tidegate \
    && pip --python /opt/tidegate/bin/python install --require-hashes --only-binary :all: -r requirements/serve.lock \
    && pip install --require-hashes -r requirements/build.lock

COPY pyproject.toml README.md LICENSE ./
COPY xds_server xds_server
COPY k8s_source k8s_source
COPY observers observers
# `check` fails when serve.lock lacks something that pyproject.toml asks for.
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && pip --python /opt/tidegate/bin/python install --no-deps --no-index /wheels/*.whl \
    && pip --python /opt/tidegate/bin/python check


FROM python:3.12-slim

LABEL org.opencontainers.image.title="Tidegate" \
    org.opencontainers.image.description="An xDS control plane for fleets of Envoy" \
    org.opencontainers.image.licenses="Apache-2.0"

# A volume that is new takes the owner of the folder on which it is mounted.
RUN groupadd --gid 65532 tidegate \
    && useradd --uid 65532 --gid tidegate --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin tidegate \
    && install --directory --mode 0700 --owner tidegate --group tidegate /var/lib/tidegate

COPY --from=build /opt/tidegate /opt/tidegate
ENV PATH=/opt/tidegate/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1

# By number, so that Kubernetes can tell that it is not root (`runAsNonRoot`).
USER 65532:65532
EXPOSE 18000 19000 9443
ENTRYPOINT ["tidegate"]
CMD ["serve", "--config", "/etc/tidegate/tidegate.yaml"]

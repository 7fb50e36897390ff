# The image of every app, by --build-arg APP (see README.md beside this file). BuildKit builds it; nothing is compiled, Node
# runs the sources. Settings and certificates for a registry of your own come as secrets and stay in no layer:
#   docker build -f infra/docker/service.Dockerfile --build-arg APP=pg-listener -t dueline/pg-listener:dev \
#     [--secret id=npmrc,src=$HOME/.npmrc] [--secret id=ca,src=ca.pem] .

# Builds only; any image with Node 18 or later, npm and Debian's C library will do.
ARG NODE_IMAGE=node:26.10.0-bookworm-slim
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${NODE_IMAGE} AS tools
WORKDIR /workspace
ENV PATH=/tools/node_modules/.bin:$PATH EXTRA_CA=/run/secrets/ca STRIP=1 pnpm_config_store_dir=/pnpm-store
RUN apt-get update && apt-get install -y --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
COPY package.json ./
COPY infra/docker/build-folder.sh infra/docker/
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
    infra/docker/build-folder.sh tools /tools

FROM tools AS pruned
ARG APP
RUN test -n "$APP" || { echo 'say which app: --build-arg APP=pg-listener' >&2; exit 1; }
COPY . .
RUN infra/docker/build-folder.sh prune "$APP" /out/.pruned

# Runs again only when the packages of this app changed.
FROM tools AS folder
COPY --from=pruned /out/.pruned/json /out
RUN --mount=type=cache,id=pnpm-store,target=/pnpm-store \
    --mount=type=secret,id=npmrc,target=/root/.npmrc --mount=type=secret,id=ca \
    infra/docker/build-folder.sh install /out
COPY --from=pruned /out/.pruned/full /out/.pruned/full
ARG APP
RUN infra/docker/build-folder.sh assemble "$APP" /out

FROM ${BASE_IMAGE} AS system
RUN apt-get update \
    && apt-get install -y --no-install-recommends libatomic1 tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/apt /var/log/dpkg.log /var/cache/debconf/*-old \
    && groupadd --gid 10001 dueline \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin dueline

FROM system
COPY --from=folder /out /dueline
ENV PATH=/dueline/bin:/usr/bin:/bin NODE_COMPILE_CACHE=/dueline/compile-cache
WORKDIR /dueline/app
# What Node makes of the files at a start: with it a start takes half the processor time. Made here, because the root cannot be written
# later; as the user that it will run as, whose id is in its name; and of root afterwards, as all else is. It ends with what it misses.
RUN install -d -o 10001 -g 10001 "$NODE_COMPILE_CACHE" \
    && { setpriv --reuid 10001 --regid 10001 --clear-groups node src/main.ts --help >/dev/null 2>&1 || :; } \
    && chown -R 0:0 "$NODE_COMPILE_CACHE" && chmod -R a+rX "$NODE_COMPILE_CACHE" \
    && test -n "$(find "$NODE_COMPILE_CACHE" -type f -print -quit)"
USER 10001:10001
EXPOSE 8080
# Ready, not only alive: what starts after it may count on it. Ops and one-shot commands serve nothing: they end before it matters.
HEALTHCHECK --interval=15s --timeout=15s --start-period=60s --retries=4 \
    CMD ["node", "-e", "require('node:http').get({ port: process.env.HTTP_PORT || 8080, path: '/readyz' }, (answer) => process.exit(answer.statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["/usr/bin/tini", "--", "node", "src/main.ts"]
ARG APP
ARG VERSION=0.0.0-dev
ENV DUELINE_VERSION=${VERSION}
ARG REVISION=unknown
ARG CREATED
LABEL org.opencontainers.image.title="dueline ${APP}" \
      org.opencontainers.image.description="${APP} of Dueline, the scheduling core of a LINE Official Account marketing platform" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"

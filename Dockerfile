# syntax=docker/dockerfile:1
# One image for linux/amd64 and linux/arm64: sliproad start (the default), api, worker, migrate …

# Node 24 only runs the installation; the service runs on the Node that the lockfile pins.
# That Node needs libatomic, which slim images leave out.
FROM node:24-trixie-slim AS build
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libatomic1 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY . .
RUN node scripts/bootstrap.mjs && node_modules/.bin/node bin/sliproad --version

FROM debian:trixie-slim
RUN apt-get update \
 && apt-get install --yes --no-install-recommends libatomic1 \
 && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 sliproad \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/sliproad --shell /usr/sbin/nologin sliproad \
 && install --directory --owner=10001 --group=10001 --mode=0700 /var/lib/sliproad
COPY --from=build /app /app
# The Node of the lockfile, by which bin/sliproad is started as well.
ENV PATH=/app/node_modules/.bin:/usr/local/bin:/usr/bin:/bin \
    NODE_ENV=production \
    HOST=0.0.0.0 \
    PORT=4000 \
    SLIPROAD_WORKER_PORT=4001 \
    SLIPROAD_DATA_DIR=/var/lib/sliproad
USER 10001:10001
WORKDIR /var/lib/sliproad
VOLUME /var/lib/sliproad
EXPOSE 4000 4001
STOPSIGNAL SIGTERM
# `sliproad worker` listens on a port of its own; the other commands on PORT.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s --retries=3 \
  CMD ["node", "-e", "Promise.any([process.env.PORT, process.env.SLIPROAD_WORKER_PORT].map((port) => fetch(`http://127.0.0.1:${port}/readyz`))).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/app/bin/sliproad"]
CMD ["start"]

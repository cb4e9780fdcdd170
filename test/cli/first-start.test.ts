import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { type Core, openCore } from "../../src/app/open-core.ts";
import { keepFirstSecrets } from "../../src/cli/first-start.ts";
import { readConfig } from "../../src/platform/config/config.ts";
import { createTestDatabase, type TestDatabase } from "../harness/database.ts";

const KEY = "sk_test_that_somebody_has_set";
const PASSWORD = "a password that somebody has set";

let home: string;
let data_dir: string;
let databases: TestDatabase[] = [];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sliproad-first-"));
});
beforeEach(async () => {
  data_dir = await mkdtemp(join(home, "data-"));
});
afterAll(async () => {
  for (const db of databases) await db.drop();
  await rm(home, { recursive: true, force: true });
});

/** A new installation with these settings. */
async function open(environment: Record<string, string>): Promise<Core> {
  const db = await createTestDatabase();
  databases = [...databases, db];
  const core = await openCore(readConfig({ SLIPROAD_DATA_DIR: data_dir, ...environment }), db.url);
  await core.database.close();
  return core;
}

it("generated secrets are shown on a terminal, and written nowhere", async () => {
  const core = await open({});
  const { api_key, admin_password } = core.first_start.created!;
  const { lines, file } = await keepFirstSecrets(core, true);
  expect(lines.join("\n")).toContain(api_key);
  expect(lines.join("\n")).toContain(admin_password);
  expect(file).toBeNull();
  expect(await readdir(data_dir)).not.toContain("first-start-secrets");
});

it("without a terminal they are written to a file of mode 0600, and a line says where", async () => {
  const core = await open({});
  const { api_key, admin_password } = core.first_start.created!;
  const { lines, file } = await keepFirstSecrets(core, false);
  expect(lines.join("\n")).not.toContain(api_key);
  expect(lines.join("\n")).not.toContain(admin_password);
  expect(lines.join("\n")).toContain(file!);
  expect((await stat(file!)).mode & 0o777).toBe(0o600);
  expect(await readFile(file!, "utf8")).toBe(
    `SLIPROAD_API_KEY=${api_key}\nSLIPROAD_ADMIN_PASSWORD=${admin_password}\n`,
  );
});

it.each([true, false])(
  "configured secrets are never shown or written (terminal: %s)",
  async (terminal) => {
    const core = await open({ SLIPROAD_API_KEY: KEY, SLIPROAD_ADMIN_PASSWORD: PASSWORD });
    const { lines, file } = await keepFirstSecrets(core, terminal);
    expect(lines.join("\n")).not.toContain(KEY);
    expect(lines.join("\n")).not.toContain(PASSWORD);
    expect(file).toBeNull();
  },
);

it("with a configured key and a generated password, only the password is stored", async () => {
  const core = await open({ SLIPROAD_API_KEY: KEY });
  const { file } = await keepFirstSecrets(core, false);
  const { admin_password } = core.first_start.created!;
  expect(await readFile(file!, "utf8")).toBe(`SLIPROAD_ADMIN_PASSWORD=${admin_password}\n`);
});

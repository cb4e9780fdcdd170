// Runs representative tests with SLIPROAD_BATCH_BY=account, records the statements they send, and
// checks them (test/tenancy/main.ts). `npm run conformance:tenancy -- test/kyc` runs other tests.
// Plain JavaScript for Node >= 20.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Payouts from quote to bank, onramps, webhooks, shared invoices, users, tasks, and the simulation. */
const TESTS = [
  "test/offramps/offramps.test.ts",
  "test/onramps/onramps.test.ts",
  "test/webhooks/delivery.test.ts",
  "test/webhooks/order.test.ts",
  "test/invoices/counterparty",
  "test/users/users.test.ts",
  "test/platform/tasks/tasks.test.ts",
  "test/simulation",
];

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const programs = join(root, "node_modules", ".bin");
const directory = mkdtempSync(join(tmpdir(), "sliproad-statements-"));
const env = {
  ...process.env,
  PATH: `${programs}${delimiter}${process.env.PATH}`,
  SLIPROAD_BATCH_BY: "account",
  SLIPROAD_RECORD_STATEMENTS: directory,
  SIMULATION_SEEDS: process.env.SIMULATION_SEEDS ?? "1",
};
const options = { cwd: root, env, stdio: "inherit", shell: process.platform === "win32" };
const given = process.argv.slice(2);
try {
  const tests = spawnSync("vitest", ["run", ...(given.length > 0 ? given : TESTS)], options);
  const checked = spawnSync("node", [join(root, "test", "tenancy", "main.ts"), directory], options);
  process.exitCode = tests.status === 0 && checked.status === 0 ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}

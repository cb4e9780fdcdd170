// Runs the tests with SLIPROAD_BATCH_BY=account and checks every statement that they send
// (test/tenancy). `npm run conformance:tenancy -- test/kyc` runs a part. Plain JavaScript for
// Node >= 20.
import { spawnSync } from "node:child_process";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const given = process.argv.slice(2);
const env = {
  ...process.env,
  PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH}`,
  SLIPROAD_BATCH_BY: "account",
  // Only all tests can tell that an exception is needed no more.
  ...(given.length > 0 ? { LONG_TESTS: "too" } : { TENANCY_RUN: "all" }),
};
// Sets of one account are smaller: under load a test takes up to twice as long.
const args = ["run", "--test-timeout=60000", ...given];
const options = { cwd: root, env, stdio: "inherit", shell: process.platform === "win32" };
process.exitCode = spawnSync("vitest", args, options).status ?? 1;

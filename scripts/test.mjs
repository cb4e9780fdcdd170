// Runs types (of the service and its pages), lint and tests for `npm test`, each to its end even if
// an earlier one failed. `npm test -- test/users` runs only the named tests. Plain JavaScript for
// Node >= 20.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findBrowser, NO_BROWSER } from "./find-browser.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const programs = join(root, "node_modules", ".bin");
// The Node of the dependencies is first, so that all stages use the same version.
const env = { ...process.env, PATH: `${programs}${delimiter}${process.env.PATH}` };
// Without names the long ones (vitest.config.ts) are left to `npm run soak`.
if (process.argv.length > 2) env.LONG_TESTS = "too";
const scratch = mkdtempSync(join(tmpdir(), "sliproad-npm-test-"));
const reportFile = join(scratch, "report.json");

const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
const given = process.argv.slice(2);
const hasBrowser = hasAnyBrowser();
// Tests that open a browser have this name (test/tidy.test.ts checks it).
const BROWSER_TESTS = "**/*.browser.test.ts";
const without = hasBrowser ? [] : ["--exclude", BROWSER_TESTS];
const tests = {
  name: "tests",
  program: "vitest",
  args: ["run", ...reporters, ...without, ...given],
};
const stages =
  given.length > 0
    ? [tests]
    : [
        { name: "types", program: "tsc", args: ["--noEmit"] },
        { name: "pages", program: "tsc", args: ["-p", "dashboard"] },
        { name: "lint", program: "biome", args: ["check", "."] },
        tests,
      ];

const results = [];
for (const stage of stages) results.push(await run(stage));
const counted = results.map((result) => ({ ...result, ...countsOf(result) }));
const skipped = hasBrowser ? 0 : countBrowserTests();
rmSync(scratch, { recursive: true, force: true });

printTable(counted);
const passed = sum(counted.map((result) => result.passed));
const failed = sum(counted.map((result) => result.failed));
if (failed > 0) process.exitCode = 1;
if (skipped > 0) console.log(`SKIPPED ${skipped} browser tests: ${NO_BROWSER}`);
if (given.length === 0) console.log("npm run soak runs the tests that take long.");
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`);

function hasAnyBrowser() {
  try {
    return findBrowser() !== null;
  } catch (error) {
    console.error(error.message);
    process.exit(1);
  }
}

async function run({ name, program, args }) {
  console.log(`\n> ${[program, ...args].join(" ")}`);
  const begun = performance.now();
  const options = { cwd: root, env, stdio: "inherit", shell: process.platform === "win32" };
  const child = spawn(join(programs, program), args, options);
  const ok = await new Promise((done) => {
    child.on("error", (error) => {
      console.error(`${program} cannot be run (${error.message}); run npm run bootstrap.`);
      done(false);
    });
    child.on("close", (code) => done(code === 0));
  });
  return { name, ok, seconds: (performance.now() - begun) / 1000 };
}

/** A stage counts as one, except that the test stage counts its tests. */
function countsOf({ name, ok }) {
  if (name !== "tests") return { passed: ok ? 1 : 0, failed: ok ? 0 : 1 };
  const report = readReport();
  const unstarted = report.testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.every(hasNotFailed),
  );
  const failed = report.numFailedTests + unstarted.length;
  // Any other failure of vitest (an unhandled error, no test found) counts as one.
  return { passed: report.numPassedTests, failed: !ok && failed === 0 ? 1 : failed };
}

/** Counted from the files without running them; limited to tests named on the command line. */
function countBrowserTests() {
  const listFile = join(scratch, "browser-tests.json");
  const args = ["list", ...given, `--json=${listFile}`];
  spawnSync(join(programs, "vitest"), args, { cwd: root, env, stdio: "ignore" });
  const listed = JSON.parse(readFileSync(listFile, "utf8"));
  return listed.filter(({ file }) => /\.browser\.test\.ts$/.test(file)).length;
}

function hasNotFailed(test) {
  return test.status !== "failed";
}

function readReport() {
  try {
    return JSON.parse(readFileSync(reportFile, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, testResults: [] };
  }
}

function printTable(rows) {
  console.log("\nstage     seconds  passed  failed");
  for (const { name, seconds, passed, failed } of rows) {
    const cells = [
      seconds.toFixed(1).padStart(9),
      ...[passed, failed].map((n) => `${n}`.padStart(8)),
    ];
    console.log(`${name.padEnd(8)}${cells.join("")}`);
  }
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

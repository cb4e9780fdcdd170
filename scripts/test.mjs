// Runs types (of the service and its pages), lint and tests for `npm test`, each to its end even if
// an earlier one failed. `npm test -- test/users` runs only the named tests. Plain JavaScript for
// Node >= 20.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative, resolve } from "node:path";
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

env.STRAY_ERRORS_FILE = join(scratch, "stray-errors");
const reporters = [
  ...["--reporter=default", "--reporter=./scripts/stray-errors.mjs"],
  ...["--reporter=json", `--outputFile.json=${reportFile}`],
];
const given = process.argv.slice(2);
const hasBrowser = hasAnyBrowser();
const TRIED_AGAIN_MAX = 2;
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

const counted = [];
for (const stage of stages) {
  const result = await run(stage);
  counted.push({ ...result, ...countsOf(result) });
}
const unsteady = await tryAgain();
const skipped = hasBrowser ? 0 : countBrowserTests();
rmSync(scratch, { recursive: true, force: true });

printTable(counted);
const passed = sum(counted.map((result) => result.passed));
const failed = sum(counted.map((result) => result.failed));
if (failed > 0) process.exitCode = 1;
if (skipped > 0) console.log(`SKIPPED ${skipped} browser tests: ${NO_BROWSER}`);
if (unsteady.length > 0) {
  console.log(`UNSTEADY: failed, and passed when tried again alone: ${unsteady.join(", ")}`);
}
if (given.length === 0) console.log("npm run soak runs the tests that take long.");
const remarks = [
  skipped > 0 ? `, ${skipped} skipped` : "",
  unsteady.length > 0 ? `, ${unsteady.length} unsteady` : "",
];
console.log(`${passed} passed, ${failed} failed${remarks.join("")}`);

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

/**
 * A whole run lasts a quarter of an hour on a shared machine, and one of its thousands of tests may
 * meet a limit of time. At most two files that failed are tried once more, alone: a fault fails again,
 * and what passes is named in the closing lines, because it is to be repaired too.
 */
async function tryAgain() {
  const first = counted.at(-1);
  const files = readReport().testResults.filter((file) => file.status === "failed");
  if (given.length > 0 || first.failed === 0 || hasStrayErrors()) return [];
  if (files.length === 0 || files.length > TRIED_AGAIN_MAX) return [];
  const names = files.map(({ name }) => relative(root, name));
  rmSync(reportFile);
  const result = await run({ ...tests, args: [...tests.args, ...names] });
  const second = { ...result, ...countsOf(result) };
  const passed_before = sum(files.map((file) => file.assertionResults.filter(hasPassed).length));
  counted.push({ ...second, name: "again" });
  first.passed -= passed_before;
  first.failed = 0;
  return second.failed === 0 ? names : [];
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

function hasPassed(test) {
  return test.status === "passed";
}

function hasNotFailed(test) {
  return test.status !== "failed";
}

/** Without the file vitest did not come to its end. */
function hasStrayErrors() {
  return !existsSync(env.STRAY_ERRORS_FILE) || readFileSync(env.STRAY_ERRORS_FILE, "utf8") !== "0";
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

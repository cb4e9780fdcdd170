// Installs missing packages, and builds the pages and the SDK when they are older than their
// sources; otherwise does nothing. Two sets of packages:
//   node scripts/bootstrap.mjs         what running needs: npm ci --omit=dev
//   node scripts/bootstrap.mjs --dev   adds what tests need
// Plain JavaScript for Node >= 20 without packages: it runs before anything is installed.
// It writes to stderr only, so that a command's own output on stdout stays clean.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { createWriteStream, existsSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { buildPages } from "./build-pages.mjs";
import { buildSdk } from "./build-sdk.mjs";
import { bundledNode, checkNativePackages } from "./check-native.mjs";
import { holdLockFor, lockInstallation } from "./install-lock.mjs";
import { BuildError, orContinue, readText, root, runBuild } from "./stale-build.mjs";

const modules = join(root, "node_modules");
const stampFile = join(modules, ".bootstrap-stamp");
const logFile = join(root, "bootstrap.log");
const platform = `${process.platform}-${process.arch}`;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
const NPM_FLAGS = ["--no-audit", "--no-fund"];

const isDev = process.argv.includes("--dev");
await runBuild(bootstrap);

async function bootstrap() {
  const lock_hash = hashOfLockfile();
  if (whatIsMissing(lock_hash) !== null) await installAlone(lock_hash);
  if (isDev) await Promise.all([buildPages(), buildSdk()]);
  else await Promise.all([orContinue("the pages", buildPages), orContinue("the SDK", buildSdk)]);
}

function hashOfLockfile() {
  const lockfile = readText(join(root, "package-lock.json"));
  if (lockfile === null) {
    throw new BuildError(
      "package-lock.json is missing, so nothing can be installed safely; restore it " +
        "(git checkout package-lock.json) and run the command again.",
    );
  }
  return createHash("sha256").update(lockfile).digest("hex");
}

/** Null when everything is installed, otherwise the reason to install: `{ sentence, has_runtime }`. */
function whatIsMissing(lock_hash) {
  const stamp = readText(stampFile);
  if (stamp === null) {
    const isBegun = existsSync(modules);
    return { sentence: isBegun ? "the last installation did not finish" : "first run" };
  }
  const [stamped_platform, stamped_hash, set] = stamp.split(" ");
  if (stamped_platform !== platform)
    return { sentence: `node_modules is for ${stamped_platform}, this machine is ${platform}` };
  if (stamped_hash !== lock_hash) return { sentence: "package-lock.json has changed" };
  if (isDev && set !== "dev") return { sentence: "adding what tests need", has_runtime: true };
  return null;
}

async function installAlone(lock_hash) {
  const release = await lockInstallation();
  process.once("exit", release);
  try {
    // Another process may have installed it while this one waited for the lock.
    const missing = whatIsMissing(lock_hash);
    if (missing !== null) await install(lock_hash, missing);
  } finally {
    release();
  }
}

/**
 * First what running needs, with the npm at hand: the lockfile's hashes verify every package,
 * including the Node that the service runs on. Then, on that Node, what tests need: on an older one
 * npm silently skips optional packages that require a newer one. The second step only adds, so that
 * a service running from this clone is not disturbed.
 */
async function install(lock_hash, { sentence, has_runtime }) {
  const begun = Date.now();
  console.error(`installing dependencies (${sentence}) ...`);
  if (!has_runtime) {
    rmSync(stampFile, { force: true });
    await runNpm(process.execPath, ["ci", "--omit=dev", ...NPM_FLAGS]);
    checkNativePackages("runtime");
    removeHeaders();
    writeFileSync(stampFile, `${platform} ${lock_hash} runtime`);
  }
  if (isDev) {
    await runNpm(bundledNode(), ["install", "--no-save", "--include=dev", ...NPM_FLAGS]);
    checkNativePackages("dev");
    writeFileSync(stampFile, `${platform} ${lock_hash} dev`);
  }
  rmSync(logFile, { force: true });
  console.error(`installed in ${Math.round((Date.now() - begun) / 1000)} s`);
}

/** The runtime comes with C headers for all platforms (68 MB); nothing here is compiled. */
function removeHeaders() {
  rmSync(join(dirname(bundledNode()), "..", "include"), { recursive: true, force: true });
}

async function runNpm(node, args) {
  const { code, signal, printed } = await spawnNpm(node, args);
  if (code === 0) return;
  const ended = signal ? `npm was ended by ${signal}` : `npm exited with ${code}`;
  const reason = usefulLine(printed) ?? ended;
  const log = relative(process.cwd(), logFile) || logFile;
  throw new BuildError(
    `installing the dependencies failed (${reason}); see ${log}, then run the command again.`,
  );
}

function spawnNpm(node, args) {
  const npm = process.env.npm_execpath;
  const PATH = `${dirname(node)}${delimiter}${process.env.PATH}`;
  const options = { cwd: root, stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, PATH } };
  const child = npm
    ? spawn(node, [npm, ...args], options)
    : spawn("npm", args, { ...options, shell: process.platform === "win32" });
  const release = child.pid ? holdLockFor(child.pid) : () => {};
  for (const [signal, code] of Object.entries(SIGNALS)) {
    process.once(signal, () => {
      child.kill(signal);
      // Another installation may begin only after npm has ended.
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
    child.on("close", (code, signal) => {
      release();
      log.end(() => done({ code, signal, printed }));
    });
  });
}

/** npm prints a bare code first and the message after it: the message is useful. */
function usefulLine(printed) {
  const lines = printed.split("\n").filter((line) => line.startsWith("npm error "));
  const messages = lines.map((line) => line.slice("npm error ".length).trim());
  const chosen = messages.find(
    (text) => / /.test(text) && !/^(code|errno|syscall|path) /.test(text),
  );
  return (chosen ?? messages[0])?.replace(/[.;:]+$/, "");
}

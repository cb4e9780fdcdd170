// Runs the Dockerfile's own steps where no container engine runs, as root on Debian:
//
//   debootstrap --variant=minbase trixie /var/tmp/base
//   node scripts/try-dockerfile.mjs /var/tmp/base /var/tmp/image
//
// Each stage starts as a copy of the base (a stage from a node image gets this machine's Node and
// npm), COPY and RUN are executed literally, and the last line printed is the command that starts
// the result in a chroot, as the image's user. It builds no image: layers, metadata and container
// networks are not tested. It supports only the instructions that the Dockerfile uses.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./stale-build.mjs";

const [base, target] = process.argv.slice(2);
if (!base || !target) throw new Error("usage: node scripts/try-dockerfile.mjs <base> <target>");

const stages = [];
for (const instruction of readInstructions()) run(instruction);

const last = stages.at(-1);
const variables = Object.entries(last.env).map(([name, value]) => `${name}=${value}`);
const command = [...last.entrypoint, ...last.cmd].join(" ");
const started = `chroot --userspec=${last.user} ${last.root} env -i ${variables.join(" ")} ${command}`;
// Programs find their libraries by /proc.
console.log(`unshare --mount sh -c 'mount -t proc proc ${last.root}/proc && exec ${started}'`);

/** One per instruction, continued lines joined, comments dropped. */
function readInstructions() {
  const text = readFileSync(join(root, "Dockerfile"), "utf8");
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  return lines
    .join("\n")
    .replaceAll("\\\n", " ")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, word, rest] = /^([A-Z]+)\s+(.*)$/.exec(line.trim());
      return { word, rest };
    });
}

function run({ word, rest }) {
  const stage = stages.at(-1);
  if (word !== "FROM") console.error(`${word} ${rest.slice(0, 100)}`);
  if (word === "FROM") startStage(rest);
  else if (word === "COPY") copy(stage, rest);
  else if (word === "RUN") runStep(stage, rest);
  else if (word === "ENV") Object.assign(stage.env, readPairs(rest, stage.env));
  else if (word === "WORKDIR") {
    stage.workdir = rest;
    mkdirSync(join(stage.root, rest), { recursive: true });
  } else if (word === "USER") stage.user = rest;
  else if (word === "ENTRYPOINT") stage.entrypoint = JSON.parse(rest);
  else if (word === "CMD") stage.cmd = JSON.parse(rest);
  else if (!["VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"].includes(word)) {
    throw new Error(`${word} is an instruction that this script does not know`);
  }
}

function startStage(from) {
  const [, image, name] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(from);
  const stage_root = join(target, name ?? "final");
  console.error(`FROM ${image}, played by ${base} in ${stage_root}`);
  rmSync(stage_root, { recursive: true, force: true });
  mkdirSync(dirname(stage_root), { recursive: true });
  execFileSync("cp", ["-a", base, stage_root]);
  cpSync("/etc/resolv.conf", join(stage_root, "etc/resolv.conf"), { dereference: true });
  const env = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
  stages.push({ name, root: stage_root, env, workdir: "/", user: "0:0", entrypoint: [], cmd: [] });
  if (image.startsWith("node:")) addNode(stage_root);
}

function addNode(stage_root) {
  const npm = execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim();
  cpSync(process.execPath, join(stage_root, "usr/local/bin/node"));
  cpSync(join(npm, "npm"), join(stage_root, "usr/local/lib/node_modules/npm"), { recursive: true });
  const link = "exec node /usr/local/lib/node_modules/npm/bin/npm-cli.js";
  writeFileSync(join(stage_root, "usr/local/bin/npm"), `#!/bin/sh\n${link} "$@"\n`, {
    mode: 0o755,
  });
}

function copy(stage, rest) {
  const from = /^--from=(\S+)\s+(\S+)\s+(\S+)$/.exec(rest);
  if (from) {
    const other = stages.find(({ name }) => name === from[1]);
    execFileSync("cp", ["-a", join(other.root, from[2]), join(stage.root, from[3])]);
    return;
  }
  if (rest !== ". .") throw new Error(`COPY ${rest} is a form that this script does not know`);
  // The files in git that .dockerignore does not exclude.
  const patterns = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  const allowed = patterns.filter((line) => line.startsWith("!")).map((line) => line.slice(1));
  const listed = execFileSync("git", ["ls-files", "-z", ...allowed], { cwd: root });
  for (const file of listed.toString("utf8").split("\0").filter(Boolean)) {
    cpSync(join(root, file), join(stage.root, stage.workdir, file));
  }
}

/** With /proc, in a mount namespace that ends with the step. */
function runStep(stage, line) {
  const mounted = 'mount -t proc proc "$0/proc" && exec chroot "$@"';
  const args = ["--mount", "/bin/sh", "-ec", mounted, stage.root, ...runArguments(stage, line)];
  execFileSync("unshare", args, { stdio: "inherit" });
}

/** Passes on this machine's npm settings, like a build's network settings. */
function runArguments(stage, line) {
  const env = { ...stage.env, HOME: "/root" };
  for (const [name, value] of Object.entries(process.env)) {
    if (/^npm_config_/i.test(name)) env[name] = value;
  }
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const script = `cd ${stage.workdir} && ${line}`;
  return [`--userspec=${stage.user}`, stage.root, "env", "-i", ...pairs, "/bin/sh", "-ec", script];
}

function readPairs(rest, env) {
  const pairs = [...rest.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name, value]);
  return Object.fromEntries(pairs.map(([name, value]) => [name, value.replace("$PATH", env.PATH)]));
}

// npm leaves other platforms' optional packages out of the lockfile when it cannot fetch them,
// and `npm ci` then refuses that lockfile. This adds the missing entries by name and version.
import { readFileSync, writeFileSync } from "node:fs";

const SYSTEMS = [
  "aix",
  "android",
  "darwin",
  "freebsd",
  "linux",
  "netbsd",
  "openbsd",
  "openharmony",
  "sunos",
  "win32",
];
const PROCESSORS = [
  "x64",
  "amd64",
  "arm64",
  "arm",
  "ia32",
  "ppc64",
  "s390x",
  "wasm32",
  "riscv64",
  "loong64",
];

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));

function isLocked(from, name) {
  let at = from;
  for (;;) {
    if (lock.packages[at ? `${at}/node_modules/${name}` : `node_modules/${name}`]) return true;
    if (!at) return false;
    at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")));
  }
}

function entryFor(name, version, dev) {
  const words = name.split("/").at(-1).split(/[-.]/);
  const os = SYSTEMS.filter((system) => words.includes(system));
  const cpu = PROCESSORS.filter((processor) => words.includes(processor)).map((processor) =>
    processor === "amd64" ? "x64" : processor,
  );
  const libc = words.includes("musl") ? ["musl"] : words.includes("gnu") ? ["glibc"] : [];
  return {
    version,
    optional: true,
    ...(dev ? { dev: true } : {}),
    ...(os.length ? { os } : {}),
    ...(cpu.length ? { cpu } : {}),
    ...(libc.length ? { libc } : {}),
  };
}

let added = 0;
for (const [at, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(at, name) || !/^\d+\.\d+\.\d+/.test(range)) continue;
    lock.packages[`node_modules/${name}`] = entryFor(name, range, entry.dev);
    added += 1;
  }
}
lock.packages = Object.fromEntries(
  Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")),
);
writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${added} lockfile entries added for other platforms`);

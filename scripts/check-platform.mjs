// Checks which native packages would be missing on another platform: installs the lockfile for it
// into an empty folder. Needs the registry, an installation (npm run bootstrap) and about a minute.
//   node scripts/check-platform.mjs linux-arm64
// Plain JavaScript for Node >= 20 without packages.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { bundledNode, listMissing } from "./check-native.mjs";
import { root } from "./stale-build.mjs";

const KNOWN = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
const name = process.argv[2];
if (!KNOWN.includes(name)) {
  console.error(`Name the platform to check, one of: ${KNOWN.join(", ")}.`);
  process.exit(2);
}
// npm silently skips packages that need a newer Node than the one that runs it.
if (!existsSync(bundledNode())) {
  console.error("The packages of this machine are missing; run npm run bootstrap first.");
  process.exit(2);
}
const PATH = `${dirname(bundledNode())}${delimiter}${process.env.PATH}`;
const [os, cpu] = name.split("-");
const libc = os === "linux" ? "glibc" : undefined;

const scratch = mkdtempSync(join(tmpdir(), "sliproad-platform-"));
try {
  const files = ["package.json", "package-lock.json", ".npmrc", "sdk/package.json"];
  for (const file of [...files, "dashboard/package.json"])
    cpSync(join(root, file), join(scratch, file));
  const platform = [`--os=${os}`, `--cpu=${cpu}`, ...(libc ? [`--libc=${libc}`] : [])];
  const args = [
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    ...platform,
  ];
  const { status } = spawnSync("npm", args, {
    cwd: scratch,
    stdio: ["ignore", 2, 2],
    env: { ...process.env, PATH },
  });
  if (status !== 0) throw new Error(`npm ci failed for ${name}`);
  const missing = listMissing("dev", { os, cpu, libc }, scratch);
  console.log(
    missing.length === 0 ? `${name}: nothing is missing` : `${name}: ${missing.join(", ")}`,
  );
  process.exitCode = missing.length === 0 ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

// Packs the service and the SDK for publishing: node scripts/pack.mjs [directory]. The service is
// compiled to JavaScript first, because Node strips no types in node_modules, and includes its
// pages, migrations and documents. The clone itself is private, so that npm publish in it fails;
// only the two files written here are published. Needs npm run bootstrap -- --dev.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { buildPages } from "./build-pages.mjs";
import { buildSdk } from "./build-sdk.mjs";
import { BuildError, filesIn, isProgram, root, runBuild } from "./stale-build.mjs";

/** What the service reads at run time, and what users expect in a package. */
const COPIED = [
  ...["bin", "migrations", "docs", "deploy", "dashboard/dist", "sdk/README.md"],
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "openapi.json"],
];
/** Needed only to build the pages, which the package contains already built. */
const BUILD_DEPENDENCIES = ["esbuild"];

/** Returns the paths of the two files. */
export async function packAll(directory) {
  mkdirSync(directory, { recursive: true });
  const scratch = mkdtempSync(join(tmpdir(), "sliproad-pack-"));
  try {
    await Promise.all([buildPages(), buildSdk()]);
    await stageService(scratch);
    const service = await npmPack(scratch, directory);
    const sdk = await npmPack(join(root, "sdk"), directory);
    return { service, sdk };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

async function stageService(scratch) {
  await compile(scratch);
  for (const path of COPIED) cpSync(join(root, path), join(scratch, path), { recursive: true });
  const source = join(root, "src");
  for (const file of filesIn(source)) {
    if (!file.endsWith(".ts")) cpSync(join(source, file), join(scratch, "src", file));
  }
  writeFileSync(join(scratch, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
}

function manifest() {
  const own = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const kept = ["name", "version", "description", "license", "type", "engines", "bin"];
  const dependencies = Object.entries(own.dependencies).filter(
    ([name]) => !BUILD_DEPENDENCIES.includes(name),
  );
  return {
    ...Object.fromEntries(kept.map((field) => [field, own[field]])),
    dependencies: Object.fromEntries(dependencies),
    optionalDependencies: own.optionalDependencies,
  };
}

async function compile(outDir) {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [compiler, "-p", join(root, "tsconfig.pack.json"), "--outDir", outDir];
  await run(process.execPath, args, "cannot compile the service");
}

async function npmPack(from, directory) {
  const npm = process.env.npm_execpath;
  const [program, first] = npm?.endsWith("js") ? [process.execPath, [npm]] : ["npm", []];
  const args = [...first, "pack", "--ignore-scripts", "--json", "--pack-destination", directory];
  const printed = await run(program, args, "cannot pack", { cwd: from });
  const answer = JSON.parse(printed);
  const [{ filename }] = Array.isArray(answer) ? answer : Object.values(answer);
  return join(directory, filename);
}

async function run(program, args, failure, options = {}) {
  try {
    const { stdout } = await promisify(execFile)(program, args, options);
    return stdout;
  } catch (error) {
    const printed = `${error.stdout ?? ""}${error.stderr ?? ""}`.trim() || error.message;
    throw new BuildError(`${failure}:\n${printed}`);
  }
}

if (isProgram(import.meta.url)) {
  await runBuild(async () => {
    const { service, sdk } = await packAll(resolve(process.argv[2] ?? join(root, "release")));
    console.log(`${service}\n${sdk}`);
  });
}

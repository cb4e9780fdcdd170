// Builds sdk/dist when it is absent or older than its sources; otherwise does nothing. So a program
// in a clone can import `@sliproad/sdk` on any Node. Offline, a second. esbuild writes the
// JavaScript; the declarations need the TypeScript compiler, which a runtime installation does not
// have. Plain JavaScript for Node >= 20.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  BuildError,
  buildWhenStale,
  filesIn,
  isProgram,
  root,
  runBuild,
  runEsbuild,
} from "./stale-build.mjs";

const sdk = join(root, "sdk");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");

export async function buildSdk() {
  const hasCompiler = existsSync(compiler);
  const sources = filesIn(join(sdk, "src")).map((name) => join(sdk, "src", name));
  await buildWhenStale({
    name: "the SDK",
    inputs: [join(sdk, "package.json"), join(sdk, "tsconfig.build.json"), ...sources],
    variant: hasCompiler ? "with declarations" : "script only",
    output: join(sdk, "dist"),
    entry: "index.js",
    build: async (scratch) => {
      await writeScript(scratch);
      if (hasCompiler) await writeDeclarations(scratch);
    },
  });
}

async function writeScript(scratch) {
  await runEsbuild("the SDK", {
    entryPoints: [join(sdk, "src", "index.ts")],
    outdir: scratch,
    target: "es2022",
    platform: "neutral",
    minify: false,
  });
}

async function writeDeclarations(scratch) {
  const args = ["-p", join(sdk, "tsconfig.build.json"), "--emitDeclarationOnly", "--outDir"];
  try {
    await promisify(execFile)(process.execPath, [compiler, ...args, scratch]);
  } catch (error) {
    const printed = `${error.stdout ?? ""}${error.stderr ?? ""}`.trim() || error.message;
    throw new BuildError(`cannot build the SDK:\n${printed}`);
  }
}

if (isProgram(import.meta.url)) await runBuild(buildSdk);

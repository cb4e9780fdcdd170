// Generates clients from openapi.json with two third-party generators and type-checks the result.
// Needs the network; installs into a temporary folder. Run: node scripts/try-generators.mjs
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const PACKAGES = ["orval@8.31.0", "swagger-typescript-api@13.13.0", "typescript@5.9.3"];
const RUNS = [
  {
    name: "orval 8.31.0",
    command: [
      "orval",
      "--input",
      "openapi.json",
      "--output",
      "orval/client.ts",
      "--client",
      "fetch",
    ],
    folder: "orval",
  },
  {
    name: "swagger-typescript-api 13.13.0",
    command: [
      ...["swagger-typescript-api", "generate", "--path", "openapi.json"],
      ...["--output", "swagger", "--name", "client.ts"],
    ],
    folder: "swagger",
  },
];
const TSCONFIG = {
  compilerOptions: {
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2024", "dom", "dom.iterable"],
    types: [],
    strict: true,
    noEmit: true,
  },
};

const folder = await mkdtemp(join(tmpdir(), "sliproad-generators-"));
try {
  await cp(join(ROOT, "openapi.json"), join(folder, "openapi.json"));
  await writeFile(join(folder, "package.json"), '{"private":true,"type":"module"}');
  run("npm", ["install", "--no-audit", "--no-fund", ...PACKAGES]);
  for (const { name, command, folder: output } of RUNS) {
    run("npx", ["--no-install", ...command]);
    const files = await readdir(join(folder, output), { recursive: true });
    const config = { ...TSCONFIG, include: [`${output}/**/*.ts`] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    run("npx", ["--no-install", "tsc", "-p", "tsconfig.json"]);
    console.log(`${name}: ${files.length} files generated, no type errors.`);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

function run(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (status === 0) return;
  console.error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`.slice(0, 8_000));
  process.exitCode = 1;
  throw new Error(`${args[1] ?? command} failed`);
}

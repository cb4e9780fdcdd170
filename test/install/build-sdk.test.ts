import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PROGRAM = 'import("@sliproad/sdk").then(({ API_VERSION }) => console.log(API_VERSION))';

let root: string;
let builder: string;

/** The SDK's files of a fresh clone after installation, so that its sources can be changed. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sliproad-sdk-build-"));
  builder = join(root, "scripts/build-sdk.mjs");
  await mkdir(join(root, "scripts"));
  await mkdir(join(root, "node_modules/@sliproad"), { recursive: true });
  for (const name of ["build-sdk.mjs", "stale-build.mjs"]) {
    await cp(join(ROOT, "scripts", name), join(root, "scripts", name));
  }
  for (const name of ["package.json", "tsconfig.build.json", "src"]) {
    await cp(join(ROOT, "sdk", name), join(root, "sdk", name), { recursive: true });
  }
  for (const name of ["typescript", "@typescript", "esbuild", "@esbuild"]) {
    await symlink(join(ROOT, "node_modules", name), join(root, "node_modules", name));
  }
  await symlink(join(root, "sdk"), join(root, "node_modules/@sliproad/sdk"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function run(...args: string[]) {
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, env });
  return { status, printed: `${stdout}${stderr}` };
}

describe("building the SDK", () => {
  it("lets a program in the clone import it by its name", async () => {
    expect(run("-e", PROGRAM).status).toBe(1);
    expect(run(builder)).toEqual({ status: 0, printed: "" });
    const { API_VERSION } = await import("@sliproad/sdk");
    expect(run("-e", PROGRAM)).toEqual({ status: 0, printed: `${API_VERSION}\n` });
    expect((await readdir(join(root, "node_modules"))).sort()).toEqual([
      ...["@esbuild", "@sliproad", "@typescript", "esbuild", "typescript"],
    ]);
  });

  it("follows the sources, and deletes files that they no longer produce", async () => {
    await writeFile(join(root, "sdk/dist/gone.js"), "");
    run(builder);
    expect(await readdir(join(root, "sdk/dist"))).toContain("gone.js");
    const version = join(root, "sdk/src/version.ts");
    await writeFile(version, 'export const API_VERSION = "2031-01-01";\n');
    expect(run(builder)).toEqual({ status: 0, printed: "" });
    expect(run("-e", PROGRAM).printed).toBe("2031-01-01\n");
    expect(await readdir(join(root, "sdk/dist"))).not.toContain("gone.js");
  });

  it("says what is wrong when it fails, and keeps the previous build", async () => {
    await writeFile(join(root, "sdk/src/version.ts"), "export const API_VERSION: number = '';\n");
    const { status, printed } = run(builder);
    expect(status).toBe(1);
    expect(printed).toMatch(/^sliproad: cannot build the SDK:\n.*version\.ts/s);
    const built = await readFile(join(root, "sdk/dist/index.js"), "utf8");
    expect(built).toContain("2031-01-01");
  });
});

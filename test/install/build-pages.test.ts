import { spawn } from "node:child_process";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

let root: string;
let pages: string;

/** A copy of the files that a build needs, so that its sources can be changed. */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "sliproad-pages-"));
  pages = join(root, "dashboard/dist/kyc");
  const is_source = (path: string) => !/node_modules|dist$/.test(path);
  await cp(join(ROOT, "dashboard"), join(root, "dashboard"), {
    recursive: true,
    filter: is_source,
  });
  await cp(join(ROOT, "sdk/src"), join(root, "sdk/src"), { recursive: true });
  await mkdir(join(root, "scripts"));
  for (const name of ["build-pages.mjs", "stale-build.mjs"]) {
    await cp(join(ROOT, "scripts", name), join(root, "scripts", name));
  }
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

function build(): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, [join(root, "scripts/build-pages.mjs")]);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  }
  return new Promise((done) => child.on("close", (code) => done({ code, printed })));
}

async function filesNamed(): Promise<string[]> {
  const html = await readFile(join(pages, "index.html"), "utf8");
  return [...html.matchAll(/"\/assets\/kyc\/([^"]+)"/g)].map(([, name]) => name!).sort();
}

describe("building the pages", () => {
  it("prints nothing, and two builds at once leave one complete page", async () => {
    const built = await Promise.all([build(), build()]);
    expect(built).toEqual([
      { code: 0, printed: "" },
      { code: 0, printed: "" },
    ]);
    expect(await readdir(pages)).toEqual(expect.arrayContaining(await filesNamed()));
    expect((await readdir(join(root, "dashboard/dist"))).sort()).toEqual([
      ...["app", "app.stamp", "kyc", "kyc.stamp"],
    ]);
  });

  it("puts no inline script or style into the document, as its policy forbids them", async () => {
    const html = await readFile(join(pages, "index.html"), "utf8");
    expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)/);
    expect(html.match(/https?:\/\/(?!www\.w3\.org\/2000\/svg)/)).toBeNull();
  });

  it("does nothing if the sources are unchanged, and builds again when they change", async () => {
    const before = await stat(join(pages, "index.html"));
    const names = await filesNamed();
    await build();
    expect((await stat(join(pages, "index.html"))).mtimeMs).toBe(before.mtimeMs);
    const texts = join(root, "dashboard/src/kyc/texts.en.ts");
    const text = await readFile(texts, "utf8");
    await writeFile(texts, text.replace('"Identity check"', '"Proof of identity"'));
    expect(await build()).toEqual({ code: 0, printed: "" });
    const [script] = (await filesNamed()).filter((name) => name.endsWith(".js"));
    expect(names).not.toContain(script);
    expect(await readFile(join(pages, script!), "utf8")).toContain("Proof of identity");
  });

  it("says what is wrong when it fails, and keeps the previous page", async () => {
    const names = await filesNamed();
    await writeFile(join(root, "dashboard/src/kyc/main.tsx"), "export const = 1;\n");
    const { code, printed } = await build();
    expect(code).toBe(1);
    expect(printed).toMatch(/^sliproad: cannot build the kyc page:/);
    expect(printed).toContain("main.tsx");
    expect(await filesNamed()).toEqual(names);
    expect(await readdir(pages)).toEqual(expect.arrayContaining(names));
  });
});

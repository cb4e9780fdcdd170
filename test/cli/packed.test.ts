import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packAll } from "../../scripts/pack.mjs";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

// The published package, in an empty project outside the clone. Its dependencies are links to those
// of the clone, because npm cannot install them without a network.
const ROOT = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const PACKED_WITHIN_MS = 120_000;

let home: string;
let project: string;
let installed: string;
let server: TestServer;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sliproad-packed-"));
  project = join(home, "project");
  installed = join(project, "node_modules", "sliproad");
  await mkdir(installed, { recursive: true });
  const [{ service }, started] = await Promise.all([packAll(home), startTestServer()]);
  server = started;
  await run("tar", ["xzf", service, "-C", installed, "--strip-components=1"]);
  const { dependencies, optionalDependencies } = await readManifest();
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(ROOT, "node_modules", name), link);
  }
}, PACKED_WITHIN_MS);
afterAll(async () => {
  await server?.close();
  await rm(home, { recursive: true, force: true });
});

async function readManifest() {
  return JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
}

/** As `npx sliproad` does; `node` is the caller's. */
function sliproad(args: string[], environment: Record<string, string> = {}, node = "node") {
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH, HOME, SLIPROAD_DATA_DIR: server.data_dir, ...environment };
  return spawn(node, [join(installed, "bin", "sliproad"), ...args], { cwd: project, env });
}

test("the package is compiled, and contains what the service reads at run time", async () => {
  const files = await readdir(installed, { recursive: true });
  expect(files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))).toEqual([]);
  for (const file of [
    ...[
      "bin/sliproad",
      "src/cli/main.js",
      "src/invoices/pdf/renderer-thread.js",
      "src/platform/pages/pages.css",
    ],
    ...["migrations/0001_create_installation.sql", "docs/guides/operating.md", "LICENSE"],
    ...["dashboard/dist/kyc/index.html", "src/docs/assets/docs.css", "SECURITY.md"],
  ]) {
    expect(files, file).toContain(file);
  }
  const manifest = await readManifest();
  expect(manifest).not.toHaveProperty("private");
  expect(manifest).not.toHaveProperty("devDependencies");
  expect(manifest).not.toHaveProperty("workspaces");
  expect(manifest.engines).toEqual({ node: ">=20" });
});

test(
  "its API and its worker run a payout, and the commands find them",
  async () => {
    const port = await freePort();
    const database = { DATABASE_URL: server.db.url, PORT: String(port) };
    const url = `http://127.0.0.1:${port}`;
    // Only the package's worker does the work.
    await server.app.worker.stop();
    const children = [
      sliproad(["api"], database),
      sliproad(["worker"], { ...database, SLIPROAD_WORKER_PORT: "0" }),
    ];
    try {
      await waitFor(
        async () => (await fetch(`${url}/readyz`).catch(() => null))?.status === 200,
        PACKED_WITHIN_MS,
      );
      const demo = sliproad(["demo", "--url", url], { SLIPROAD_API_KEY: server.key });
      let printed = "";
      for (const stream of [demo.stdout, demo.stderr]) {
        stream.setEncoding("utf8").on("data", (text: string) => {
          printed += text;
        });
      }
      const [code] = await once(demo, "close");
      expect(printed).toMatch(/fiat_sent after/);
      expect(code).toBe(0);
      for (const path of ["/docs/guides/operating", "/assets/pages.css", "/sign-in"]) {
        expect((await fetch(`${url}${path}`)).status, path).toBe(200);
      }
    } finally {
      const ended = children.map((child) => once(child, "close"));
      for (const child of children) child.kill("SIGTERM");
      await Promise.all(ended);
    }
  },
  PACKED_WITHIN_MS,
);

async function freePort(): Promise<number> {
  const socket = createServer().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const { port } = socket.address() as { port: number };
  socket.close();
  await once(socket, "close");
  return port;
}

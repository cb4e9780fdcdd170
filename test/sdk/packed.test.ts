import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { webhooks } from "@sliproad/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { blocksOf } from "../harness/documentation.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const ROOT = join(import.meta.dirname, "../..");
const SDK = join(ROOT, "sdk");
/** The compiler that most projects have, not the one of this repository. */
const COMPILER = join(SDK, "node_modules/typescript/bin/tsc");
const NODE = { module: "nodenext", lib: ["es2022"], types: ["node"], skipLibCheck: true };
const run = promisify(execFile);

let server: TestServer;
let home: string;
/** An empty project next to the clone, with the packed SDK installed and the examples. */
let project: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "sliproad-sdk-"));
  project = join(home, "project");
  await mkdir(project);
  await symlink(ROOT, join(home, "sliproad"));
  const [started] = await Promise.all([startTestServer(), install()]);
  server = started;
});
afterAll(async () => {
  await server?.close();
  await rm(home, { recursive: true, force: true });
});

/** As in the README. */
async function install(): Promise<void> {
  const readme = await readFile(join(SDK, "README.md"), "utf8");
  const [how, ...others] = blocksOf(readme, "sh");
  expect(others).toEqual([]);
  await writeFile(join(project, "package.json"), '{ "private": true }');
  const npm = { npm_config_offline: "true", npm_config_audit: "false", npm_config_fund: "false" };
  await run("sh", ["-ec", how!], { cwd: project, env: { ...process.env, ...npm } });
  for (const [, name, code] of readme.matchAll(/`([\w.]+)`[^`]*\n\n```(?:js|ts)\n(.*?)^```$/gms)) {
    await writeFile(join(project, name!), code!);
  }
}

/** Runs a program in the project with this Node or the given one; returns its output. */
async function runInProject(file: string, node = process.execPath): Promise<string> {
  const env = { ...process.env, SLIPROAD_URL: server.url, SLIPROAD_API_KEY: server.key };
  const { stdout } = await run(node, [file], { cwd: project, env });
  return stdout.trim();
}

/** The Node of this release on the machine's path, besides the one that runs this. */
function findNode(release: string): string | undefined {
  const places = (process.env.PATH ?? "").split(delimiter).filter((place) => place !== "");
  return places
    .map((place) => join(place, "node"))
    .find((node) => {
      const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
      return stdout?.startsWith(`v${release}.`);
    });
}
/** The Node that runs this, and the oldest supported one if the machine has it. */
const NODES = [
  { version: process.version, node: process.execPath },
  ...["20"].flatMap((version) => {
    const node = findNode(version);
    return node ? [{ version: `v${version}`, node }] : [];
  }),
];

async function compile(options: Record<string, unknown>, files: string[]): Promise<void> {
  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    target: "es2022",
    ...options,
  };
  const config = { compilerOptions: strict, files };
  await writeFile(join(project, "tsconfig.json"), JSON.stringify(config));
  await run(process.execPath, [COMPILER], { cwd: project }).catch((error) => {
    throw new Error(error.stdout);
  });
}

describe("the packed SDK, in an empty project", () => {
  it("contains its code, types and README, and needs no other package", async () => {
    expect(await readdir(join(project, "node_modules"))).toEqual([
      ".package-lock.json",
      "@sliproad",
    ]);
    const at = join(project, "node_modules/@sliproad/sdk");
    expect((await readdir(at)).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
    const manifest = JSON.parse(await readFile(join(at, "package.json"), "utf8"));
    expect(manifest.dependencies).toBeUndefined();
    expect([manifest.license, manifest.engines]).toEqual(["Apache-2.0", { node: ">=20" }]);
    const licence = await readFile(join(at, "LICENSE"), "utf8");
    expect(licence).toBe(await readFile(join(ROOT, "LICENSE"), "utf8"));
    expect(licence).toMatch(/Apache License\s+Version 2\.0, January 2004/);
    const names = await readdir(join(at, "dist"), { recursive: true });
    const sources = await readdir(join(SDK, "src"), { recursive: true });
    const declarations = sources.map((name) => name.replace(/\.ts$/, ".d.ts"));
    expect(names.sort()).toEqual([...declarations, "index.js"].sort());
    for (const name of names.filter((file) => file.endsWith(".js"))) {
      const code = await readFile(join(at, "dist", name), "utf8");
      // Imports neither a Node module nor a package: it loads in a browser unchanged.
      expect(code, name).not.toMatch(/(from|import)\s*\(?\s*["'](?!\.)/);
    }
  });

  it.each(NODES)(
    "the README's payout ends with money in the bank, on $version",
    async ({ node }) => {
      expect(await runInProject("payout.mjs", node)).toBe("fiat_sent 1000 eur");
    },
  );

  it("the same program compiles as strict TypeScript and pays", async () => {
    await linkNodeTypes();
    await cp(join(project, "payout.mjs"), join(project, "payout.ts"));
    await compile(NODE, ["payout.ts"]);
    expect(await runInProject("payout.js")).toBe("fiat_sent 1000 eur");
  });

  it.each(NODES)(
    "the README's report compiles as strict TypeScript and runs on $version",
    async (one) => {
      await linkNodeTypes();
      await compile(NODE, ["report.ts"]);
      const lines = (await runInProject("report.js", one.node)).split("\n");
      expect(lines).toContainEqual(expect.stringMatching(/^fiat_sent [1-9]000$/));
      expect(lines).toContain("user.first_name parameter_missing");
    },
  );

  it("its types compile without Node in a browser project and reject mistakes", async () => {
    await writeFile(join(project, "page.ts"), PAGE);
    const browser = { module: "esnext", moduleResolution: "bundler", types: [], noEmit: true };
    await compile({ ...browser, skipDefaultLibCheck: true }, ["page.ts"]);
  });

  it.each(NODES)(
    "the README's receiver accepts only signed requests, on $version",
    async ({ node }) => {
      expect(await useReceiver(node)).toEqual([204, 400, "fiat_sent\n"]);
    },
  );
});

/** The receiver's responses to signed and unsigned requests, and its output. */
async function useReceiver(node: string): Promise<[number, number, string]> {
  const port = await findPort();
  const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
  const env = { ...process.env, PORT: String(port), WEBHOOK_SECRET: secret };
  const receiver: ChildProcess = spawn(node, ["receiver.mjs"], { cwd: project, env });
  try {
    let printed = "";
    receiver.stdout!.on("data", (some) => {
      printed += some;
    });
    const body = JSON.stringify({
      event: "offramp_update",
      timestamp: 1,
      payload: { offramp: { status: "fiat_sent" } },
    });
    const send = async (signed: string) => {
      const headers = await webhooks.sign(signed, secret);
      return fetch(`http://127.0.0.1:${port}`, { method: "POST", headers, body });
    };
    const taken = await waitFor(() => send(body).catch(() => null));
    const refused = await send(`${body} `);
    await waitFor(() => printed.endsWith("\n"));
    return [taken.status, refused.status, printed];
  } finally {
    receiver.kill();
    await once(receiver, "exit");
  }
}

/** What a page may do, and what the compiler must reject. */
const PAGE = `
import { isSliproadError, Sliproad, type WebhookEvent, webhooks } from "@sliproad/sdk";

const sliproad = new Sliproad({ baseUrl: "https://ramp.example", accessToken: async () => "token" });
export async function upload(offramp_id: string, file: File, signal: AbortSignal): Promise<string> {
  return (await sliproad.offramps.documents.upload(offramp_id, file, { signal })).message;
}
export async function count(user_id: string): Promise<number> {
  let sum = 0;
  for await (const offramp of sliproad.offramps.list(user_id, { status: "fiat_sent" })) {
    sum += offramp.destination_amount;
  }
  return sum;
}
export function name(event: WebhookEvent): string {
  return event.event === "offramp_update" ? event.payload.offramp.status : event.event;
}
export function isLate(error: unknown): boolean {
  return isSliproadError(error, "quote_expired", "timed_out");
}
export const event: Promise<WebhookEvent> = webhooks.verify("{}", new Headers(), ["a", "b"]);

// @ts-expect-error a client needs a credential
new Sliproad({ baseUrl: "https://ramp.example" });
// @ts-expect-error there is no such status
sliproad.offramps.list("id", { status: "sent" });
// @ts-expect-error an amount is missing
sliproad.offramps.create("id", "id", [{ payment_detail_id: "id", destination_currency: "eur" }]);
// @ts-expect-error a mistyped field
sliproad.users.update("id", { citty: "Lisbon" });
// @ts-expect-error there is no such error
isSliproadError(null, "quote_is_expired");
// @ts-expect-error there is no such route
sliproad.request("get", "/nowhere", {});
// @ts-expect-error the id is missing
sliproad.request("get", "/users/{user_id}", {});
`;

async function linkNodeTypes(): Promise<void> {
  if (!(await mkdir(join(project, "node_modules/@types"), { recursive: true }))) return;
  for (const name of ["@types/node", "undici-types"]) {
    await symlink(join(ROOT, "node_modules", name), join(project, "node_modules", name));
  }
}

async function findPort(): Promise<number> {
  const socket = createServer().listen(0, "127.0.0.1");
  await once(socket, "listening");
  const address = socket.address();
  socket.close();
  await once(socket, "close");
  if (typeof address !== "object" || !address) throw new Error("no port");
  return address.port;
}

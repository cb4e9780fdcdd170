import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { listRoutes } from "../harness/routes.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { type BrowserMember, signInMember } from "./dashboard-server.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const ID = "01a1dd11-4aee-7000-adc7-78aca4556f62";
const BEGUN_MS = 300;

/** Everything that only members can change. */
function listWrites(): { method: string; path: string }[] {
  return listRoutes(server.app.server)
    .filter(({ path }) => path.startsWith("/dashboard/api/"))
    .filter(({ method }) => /POST|PATCH|DELETE/.test(method))
    .map(({ method, path }) => ({ method, path: path.replaceAll(/:\w+/g, ID) }));
}

/** Sends a request but for the last byte of its body; the returned function sends that. */
function holdBack(member: BrowserMember, { method, path }: { method: string; path: string }) {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const cookie = [...member.visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const head = [
    `${method} ${path} HTTP/1.1`,
    ...[`Host: ${hostname}:${port}`, "Connection: close", "Content-Type: application/json"],
    ...["Content-Length: 2", `Cookie: ${cookie}`, `X-CSRF-Token: ${member.visitor.csrf}`],
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n{`);
  const answer = text(socket);
  return async () => {
    socket.write("}");
    return Number((await answer).slice("HTTP/1.1 ".length).slice(0, 3));
  };
}

it("no change is made by a request whose end arrives after the sign-out", async () => {
  const writes = listWrites();
  expect(writes.length).toBeGreaterThan(15);
  const { account_id } = server;
  const email = "admin@example.test";
  const member = await signInMember(server, { account_id, role: "admin", email });
  const held = writes.map((write) => ({ ...write, finish: holdBack(member, write) }));
  await new Promise((resolve) => setTimeout(resolve, BEGUN_MS));
  const form = new URLSearchParams({ csrf: member.visitor.csrf }).toString();
  await member.call("POST", "/sign-out", form, {
    "content-type": "application/x-www-form-urlencoded",
  });
  const answered: string[] = [];
  for (const { method, path, finish } of held) {
    const status = await finish();
    if (status !== 401) answered.push(`${method} ${path}: ${status}`);
  }
  expect(answered).toEqual([]);
});

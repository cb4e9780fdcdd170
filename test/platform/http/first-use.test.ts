import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { revokeApiKey } from "../../../src/accounts/revoke-api-key.ts";
import { hashToken } from "../../../src/accounts/sign-in/sessions.ts";
import { knownCredentials } from "../../../src/platform/http/known-credentials.ts";
import { type BrowserMember, signInMember } from "../../dashboard/dashboard-server.ts";
import { type HeldStatements, holdStatements } from "../../harness/hold-statements.ts";
import { addApp, type Client, post } from "../../harness/oauth.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";

const CONNECTIONS = 40;
const AHEAD = 90;
/** Two requests of each are begun in any case. */
const OF_NETWORK = 2;
const ANSWER_MAX_MS = 8_000;
const environment = { SLIPROAD_TRUSTED_PROXIES: "127.0.0.1", SLIPROAD_SECOND_FACTOR: "optional" };

let server: TestServer;
/** The same installation after a restart: it has seen no credential yet. */
let restarted: TestServer;
let customer: { account_id: string; key: string };
let revoked: { account_id: string; key: string };
let member: BrowserMember;
let token: string;
let held: HeldStatements;
const strangers: Socket[] = [];

beforeAll(async () => {
  server = await startTestServer({ environment });
  customer = await server.addAccount("Customer");
  revoked = await server.addAccount("Revoked");
  await revokeKey(revoked);
  const { account_id } = customer;
  member = await signInMember(server, { account_id, role: "admin", email: "ada@example.test" });
  const machine: Client = await addApp(server, account_id, { flow: "client_credentials" });
  const grant = { grant_type: "client_credentials" };
  const answer = await post(server, "/oauth/token", machine, grant);
  token = answer.body.access_token;
  restarted = await startTestServer({ environment, beside: server });
  held = holdStatements(account_id);
  fill();
}, 60_000);
afterAll(async () => {
  for (const socket of strangers) socket.destroy();
  held?.letGo();
  await restarted?.close();
  await server?.close();
});

async function revokeKey({ key, account_id }: typeof customer): Promise<void> {
  const { database, clock } = server.core;
  const [row] = await database.query<{ id: string; account_id: string }>(
    "select id, account_id from api_keys where last_four = $1 and account_id = $2",
    [key.slice(-4), account_id],
  );
  const by = { actor: "command line", reason: "test" } as const;
  await revokeApiKey(database, { ...row!, ...by }, clock.now());
}

/** Networks with made-up keys send as much as is begun for all of them. */
function fill(): void {
  for (let at = 0; at < CONNECTIONS; at += 1) {
    const socket = connect(Number(new URL(restarted.url).port), "127.0.0.1");
    socket.on("error", () => {}).resume();
    strangers.push(socket);
    const requests = Array.from({ length: AHEAD }, (_, index) => {
      const network = Math.floor((at * AHEAD + index) / OF_NETWORK);
      const key = `sk_test_${String(at * AHEAD + index).padStart(82, "x")}`;
      return (
        `GET /users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n` +
        `X-Forwarded-For: 198.${network >> 8}.${network & 255}.1\r\n\r\n`
      );
    });
    socket.write(requests.join(""));
  }
}

/** Until a made-up key is refused: with so many under way nothing more of networks is begun. */
async function fillUp(): Promise<void> {
  let is_full = false;
  for (; !is_full; extra += 1) {
    const headers = {
      authorization: "Bearer made-up",
      "x-forwarded-for": `203.0.${extra >> 8}.${extra & 255}`,
    };
    // One that is begun is not answered and goes on.
    void send(headers).then((status) => {
      is_full ||= status === 503;
    });
    await sleep(20);
  }
}
let extra = 0;

async function send(
  headers: Record<string, string>,
  path = "/users?limit=1",
  answer_max_ms = ANSWER_MAX_MS,
): Promise<unknown> {
  const signal = AbortSignal.timeout(answer_max_ms);
  const answer = await fetch(`${restarted.url}${path}`, { headers, signal }).catch(() => null);
  await answer?.text();
  return answer?.status ?? "nothing";
}

it("a key that this process has never seen is answered while strangers fill it", async () => {
  await fillUp();
  expect(await send({ authorization: `Bearer ${customer.key}` })).toBe(200);
  const altered = customer.key.replace(/^(.{20})./, (_, start) => `${start}.`);
  expect(await send({ authorization: `Bearer ${altered}` })).toBe(503);
});

it("and so is a member who signed in before the restart, with pages and the API", async () => {
  await fillUp();
  const cookie = [...member.visitor.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  expect(await send({ cookie, "x-csrf-token": member.visitor.csrf })).toBe(200);
  expect(await send({ cookie }, "/dashboard/security")).toBe(200);
  const made_up = cookie
    .replace(/(sliproad_session=)[^;]{4}/, "$1AAAA")
    .replace(/sliproad_device=[^;]*/, "");
  expect(await send({ cookie: made_up, "x-csrf-token": member.visitor.csrf })).toBe(503);
});

it("and so is the browser of a member who signed out, who signs in again", async () => {
  await fillUp();
  const cookie = `sliproad_device=${member.visitor.cookies.get("sliproad_device")}`;
  expect(await send({ cookie }, "/sign-in")).toBe(200);
  expect(await send({ cookie: cookie.replace(/\.[^.]{4}/, ".AAAA") }, "/sign-in")).toBe(503);
});

it("and so is an application with its token", async () => {
  await fillUp();
  expect(await send({ authorization: `Bearer ${token}` }, "/me")).toBe(200);
});

it("a revoked key is refused in its account's turn, and then is a stranger's", async () => {
  held.letGo();
  held = holdStatements(revoked.account_id);
  const headers = { authorization: `Bearer ${revoked.key}` };
  // The database answers this account alone.
  expect(await send(headers)).toBe(401);
  expect(await send(headers, "/users", 1_000)).toBe("nothing");
});

it.each(["/sign-in", "/docs", "/healthz"])(
  "at %s, too, a revoked key is soon a stranger's",
  async (path) => {
    held.letGo();
    const { key, account_id } = await server.addAccount(`Revoked before ${path}`);
    await revokeKey({ key, account_id });
    const known = knownCredentials(restarted.core.index_key);
    expect(known.accountOf(key)).toBe(account_id);
    await send({ authorization: `Bearer ${key}` }, path);
    await vi.waitFor(() => expect(known.accountOf(key)).toBeUndefined(), { timeout: 10_000 });
  },
);

it("and so is an ended session, where nobody asks for one", async () => {
  const { account_id } = customer;
  const email = "bob@example.test";
  const { visitor } = await signInMember(server, { account_id, role: "admin", email });
  const token = visitor.cookies.get("sliproad_session")!;
  await server.core.database.query("delete from sessions where token_hash = $1", [
    hashToken(server.core.index_key, token),
  ]);
  const known = knownCredentials(restarted.core.index_key);
  expect(known.accountOf(token)).toBe(account_id);
  await send({ cookie: `sliproad_session=${token}` }, "/healthz");
  await vi.waitFor(() => expect(known.accountOf(token)).toBeUndefined(), { timeout: 10_000 });
});

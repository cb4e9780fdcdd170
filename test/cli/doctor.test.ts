import { afterAll, beforeAll, expect, it } from "vitest";
import { checkVoters } from "../../src/cli/doctor/checks.ts";
import {
  APPLY_KEPT_ANSWERS_TASK,
  CREDIT_KEPT_DEPOSITS_TASK,
} from "../../src/offramps/task-kinds.ts";
import { KEPT_MESSAGES } from "../../src/partners/kept-messages/kept-store.ts";
import { newId } from "../../src/platform/ids.ts";
import { insertVouched } from "../../src/platform/sealing/write-vouched.ts";
import { addMember } from "../approvals/proposal-fixture.ts";
import { runCommand } from "../harness/command-line.ts";
import { type Receiver, startReceiver } from "../harness/receiver.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

let server: TestServer;
let receiver: Receiver;
beforeAll(async () => {
  server = await startTestServer();
  receiver = await startReceiver();
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

/** Nothing listens there. */
const NO_PORT = "1";
const RECORD_ID = newId(new Date());

type Finding = { check: string; ok: boolean; look?: true; finding: string };

const run = (environment: Record<string, string> = {}, ...args: string[]) =>
  runCommand(["doctor", ...args], {
    DATABASE_URL: server.db.url,
    SLIPROAD_DATA_DIR: server.data_dir,
    PORT: NO_PORT,
    ...environment,
  });

async function examine(environment: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(environment, "--json");
  expect(stderr).toBe("");
  const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { code, ok, of };
}

/** An answer of the bank, and a deposit, that could not be applied when they were tried. */
async function keepMessages(): Promise<void> {
  const { account_id, core } = server;
  for (const kind of [APPLY_KEPT_ANSWERS_TASK, CREDIT_KEPT_DEPOSITS_TASK]) {
    await core.database.transaction(async (tx) => {
      insertVouched(tx, KEPT_MESSAGES, {
        ...{ account_id, kind, record_id: RECORD_ID, place: 1n },
        ...{ reference: "kept", message: "{}", kept_at: core.clock.now() },
      });
    });
    await server.db.database.query(
      `insert into tasks (account_id, id, kind, record_id, due_at, created_at, attempts, last_error)
       values ($1, gen_random_uuid(), $2, $3, now() + interval '1 hour', now(), 1, 'Error: changed')`,
      [account_id, kind, RECORD_ID],
    );
  }
}

it("work that waits for people is reported with what to do, and is not a fault", async () => {
  receiver.answer(() => 410);
  const app = { name: "Broken", webhook_url: receiver.url, events: ["kyc_update"] };
  const made = (await server.call("POST", "/apps", { app })).body.app;
  await server.call("POST", "/sandbox/webhook", { webhook_type: "kyc_update" });
  const deposit = { amount: 10, currency: "usd", deposit_message: "no code" };
  await server.call("POST", "/sandbox/deposits", { deposit });
  await waitFor(async () => {
    const { body } = await server.call("GET", `/apps/${made.id}`);
    return body.app.webhook.state === "disabled";
  });
  await waitFor(async () => {
    const { body } = await server.call("GET", "/deposits?status=unmatched");
    return body.deposits.length === 1;
  });
  await keepMessages();
  const { code, ok, of } = await examine();
  expect({ code, ok }).toEqual({ code: 0, ok: true });
  expect(of("answers")).toMatchObject({ ok: true, warning: true });
  expect(of("answers")!.finding).toBe(
    `1 of banks kept; "apply-kept-answers" tries them again; payout ${RECORD_ID}: ` +
      "Error: changed; repair it: run sliproad verify",
  );
  expect(of("transfers")).toMatchObject({ ok: true, warning: true });
  expect(of("transfers")!.finding).toMatch(
    /^1 of chains kept; "credit-kept-deposits" .*; quote .*: Error: changed; repair it: run/,
  );
  expect(of("webhooks")).toMatchObject({ ok: true, warning: true });
  expect(of("webhooks")!.finding).toMatch(/^Broken of demo \(.*\) disabled.*sliproad apps resume/);
  expect(of("deposits")).toMatchObject({ ok: true, warning: true });
  expect(of("deposits")!.finding).toMatch(/^1 unmatched; .*GET \/deposits\?status=unmatched/);
  const { stdout } = await run();
  expect(stdout).toMatch(/\nWARN {2}deposits: 1 unmatched/);
  expect(stdout).toMatch(/\nNo errors found; check the warnings\.\n$/);
});

it("a running service is checked, and one that should respond and does not is a fault", async () => {
  const [up, down] = await Promise.all([
    examine({ SLIPROAD_PUBLIC_URL: server.url }),
    examine({ SLIPROAD_PUBLIC_URL: "http://127.0.0.1:1" }),
  ]);
  expect(up.of("service")).toEqual({
    check: "service",
    ok: true,
    finding: `ready at ${server.url}`,
  });
  expect(down).toMatchObject({ code: 1, ok: false });
  expect(down.of("service")!.finding).toMatch(/does not answer .*; start it again$/);
});

it("an API without a file in the data directory is found at its configured URL", async () => {
  const { hostname, port } = new URL(server.url);
  const { of } = await examine({ HOST: hostname, PORT: port });
  expect(of("service")).toMatchObject({ ok: true, finding: `ready at http://${hostname}:${port}` });
  expect(of("worker")).toMatchObject({ ok: true, finding: "running, nothing overdue" });
});

it("work that keeps failing, a watcher that is behind and a silent worker are faults", async () => {
  const { database } = server.db;
  await server.app.worker.stop();
  // As if another worker were running, on everything but this.
  await database.query("insert into worker_heartbeats values ($1, $2)", [
    server.account_id,
    new Date(),
  ]);
  await database.query("update tasks set attempts = 20 where kind = 'watch-chains'");
  const failing = await examine();
  expect(failing).toMatchObject({ code: 1, ok: false });
  expect(failing.of("worker")!.finding).toContain('"watch-chains" failed up to 20 times');
  expect(failing.of("watchers")!.finding).toMatch(/^behind: watch-chains \(failed 20 times/);

  await database.query("delete from worker_heartbeats");
  const [serving, half, stopped] = await Promise.all([
    examine({ SLIPROAD_PUBLIC_URL: server.url }),
    examine({ PORT: new URL(server.url).port }),
    examine(),
  ]);
  expect(half).toMatchObject({ code: 1, ok: false });
  expect(half.of("worker")).toMatchObject({ ok: false });
  expect(serving.of("worker")).toMatchObject({ ok: false });
  expect(serving.of("service")!.finding).toContain("No worker is running.");
  expect(stopped.of("worker")).toMatchObject({ ok: true });
  expect(stopped.of("worker")!.finding).toMatch(/^none is running; run sliproad start/);

  // Of a worker that was killed before.
  const seen_at = new Date(Date.now() - 15_000);
  await database.query("insert into worker_heartbeats values ($1, $2)", [
    server.account_id,
    seen_at,
  ]);
  expect((await examine()).of("worker")!.finding).toMatch(/^none is running; run sliproad start/);
});

it("too many connections for the server are a fault, a missing standby is a warning", async () => {
  const { of } = await examine();
  expect(of("connections")).toMatchObject({ ok: true });
  expect(of("connections")!.finding).toMatch(/^\d process(es)? of at most 16, the server accepts/);
  expect(of("standby")).toMatchObject({ ok: true, warning: true });
  const many = await examine({ SLIPROAD_DATABASE_CONNECTIONS: "500" });
  expect(many).toMatchObject({ code: 1, ok: false });
  expect(many.of("connections")!.finding).toMatch(/lower SLIPROAD_DATABASE_CONNECTIONS or raise/);
});

it("an account with fewer than two members who can vote is a warning in live mode", async () => {
  const { account_id } = await server.addAccount("Solo");
  const add = (role: "admin" | "developer" | "approver") => addMember(server, role, account_id);
  await add("admin");
  await add("developer");
  const lone = await checkVoters(server.core);
  expect(lone).toMatchObject({ ok: true, warning: true });
  expect(lone.finding).toMatch(/^fewer than two members who can vote: .*\bSolo\b/);
  await add("approver");
  expect((await checkVoters(server.core)).finding).not.toContain("Solo");
});

it("a row that Sliproad did not write ends a command with a sentence", async () => {
  await server.core.database.query("update accounts set mac = null");
  const environment = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  const { code, stderr } = await runCommand(["start"], { ...environment, PORT: "0" });
  expect(code).toBe(1);
  expect(stderr).toMatch(/sliproad: .*was not written by Sliproad as it is: .*sliproad verify/);
  expect(stderr).not.toContain("    at ");
});

import { createServer } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { offrampMetrics } from "../../src/offramps/metrics.ts";
import { depositMetrics } from "../../src/onramps/metrics.ts";
import type { Session } from "../../src/platform/db/database.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { taskMetrics } from "../../src/platform/tasks/task-metrics.ts";
import { rateMetrics } from "../../src/prices/metrics.ts";
import { webhookMetrics } from "../../src/webhooks/metrics.ts";
import { runCommand, startCommand } from "../harness/command-line.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute } from "../harness/ramp.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { waitFor } from "../harness/wait-for.ts";

const TOKEN = "a-token-for-metrics";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

/** The samples of a scrape, by name and labels. */
async function scrape(on: TestServer): Promise<Map<string, number>> {
  const answer = await on.call("GET", "/metrics", undefined, { key: null });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toMatch(/^text\/plain/);
  return samplesOf(answer.text);
}

function samplesOf(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

describe("who may read the metrics", () => {
  const ask = async (environment: Record<string, string>, headers: Record<string, string> = {}) => {
    const other = await startTestServer({ beside: server, environment });
    try {
      return (await other.call("GET", "/metrics", undefined, { key: null, headers })).status;
    } finally {
      await other.app.close();
    }
  };
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it("a direct request from the same machine, without a token, in a sandbox", async () => {
    expect(await ask({})).toBe(200);
  });

  it("only callers with the token, if one is set", async () => {
    const environment = { SLIPROAD_METRICS_TOKEN: TOKEN };
    expect(await ask(environment)).toBe(401);
    expect(await ask(environment, bearer("a-token-for-metricz"))).toBe(401);
    expect(await ask(environment, bearer(TOKEN))).toBe(200);
  });

  it.each([
    ["X-Forwarded-For", "127.0.0.1"],
    ["Forwarded", "for=127.0.0.1"],
    ["X-Real-IP", "127.0.0.1"],
    ["Via", "1.1 proxy"],
  ])("no request that a proxy on the same machine forwarded with %s", async (name, value) => {
    expect(await ask({}, { [name]: value })).toBe(401);
    const trusting = { SLIPROAD_TRUSTED_PROXIES: "127.0.0.1" };
    expect(await ask(trusting, { [name]: value })).toBe(401);
  });

  it.each<[string, Record<string, string>]>([
    ["a public URL", { SLIPROAD_PUBLIC_URL: "https://pay.example.com" }],
    ["trusted proxies", { SLIPROAD_TRUSTED_PROXIES: "127.0.0.1" }],
    ["a host that others reach", { HOST: "0.0.0.0" }],
  ])(
    "with %s only callers with the token: a proxy may not identify itself",
    async (_n, settings) => {
      expect(await ask(settings)).toBe(401);
      const with_token = { ...settings, SLIPROAD_METRICS_TOKEN: TOKEN };
      expect(await ask(with_token, bearer(TOKEN))).toBe(200);
    },
  );
});

describe("the metrics", () => {
  it("count requests by route, never by URL", async () => {
    const user_id = await addApprovedUser(server);
    await server.call("GET", `/users/${user_id}`);
    const answer = await server.call("GET", "/metrics", undefined, { key: null });
    expect(answer.text).toContain('route="/users/:user_id",status="200"');
    expect(answer.text).not.toContain(user_id);
  });

  it("show open payouts, unmatched deposits, due tasks with their age, the pool", async () => {
    const own = await startTestServer();
    try {
      const user_id = await addApprovedUser(own);
      const payment_detail_id = await addPaymentDetail(own, user_id, "eur");
      const quote_id = await addQuote(own, user_id);
      const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
      const created = await own.call("POST", path, {
        offramps: [
          {
            payment_detail_id,
            destination_amount: 100,
            destination_currency: "eur",
            supporting_document_attributes: { submitted_url: "https://files.test/a.pdf" },
            metadata: { sandbox_outcome: "stuck" },
          },
        ],
      });
      expect(created.status).toBe(200);
      expect((await execute(own, user_id, quote_id)).status).toBe(200);
      const deposit = { amount: 5, currency: "usd", deposit_message: "none", bank_reference: "b1" };
      expect((await own.call("POST", "/sandbox/deposits", { deposit })).status).toBe(200);
      const { database, clock } = own.core;
      await waitFor(async () => {
        const sent = await database.query("select 1 from payouts where status = 'sent'");
        const waiting = await database.query("select 1 from fiat_deposits");
        return sent.length === 1 && waiting.length === 1;
      });
      await own.call("POST", "/sandbox/clock", { advance_ms: 3_600_000 });
      await own.app.worker.stop();
      await database.query(
        `insert into tasks (account_id, id, kind, record_id, due_at, created_at, attempts)
         select $1, gen_random_uuid(), 'invented', gen_random_uuid(), $2, $2, 1
         from generate_series(1, 10050)`,
        [own.account_id, new Date(clock.now().getTime() - 120_000)],
      );
      const samples = await scrape(own);
      expect(samples.get('sliproad_payouts_open{status="sent"}')).toBe(1);
      expect(samples.get('sliproad_payout_oldest_seconds{status="sent"}')).toBeGreaterThan(3_590);
      expect(samples.get('sliproad_payouts_open{status="recorded"}')).toBe(0);
      expect(samples.get('sliproad_offramps_open{status="sending_fiat"}')).toBe(1);
      expect(samples.get("sliproad_deposits_unmatched")).toBe(1);
      expect(samples.get("sliproad_deposit_oldest_unmatched_seconds")).toBeGreaterThan(3_590);
      // Counted up to a limit, whatever the backlog.
      expect(samples.get('sliproad_tasks_due{kind="invented"}')).toBe(10_000);
      expect(samples.get('sliproad_tasks_failing{kind="invented"}')).toBe(10_000);
      const oldest = samples.get('sliproad_task_oldest_due_seconds{kind="invented"}');
      expect(oldest).toBeGreaterThanOrEqual(120);
      expect(samples.get("sliproad_database_up")).toBe(1);
      expect(samples.get("sliproad_database_pool_max")).toBe(16);
      expect(samples.get("sliproad_database_pool_waiting")).toBe(0);
      expect(samples.get('sliproad_webhook_deliveries{status="pending"}')).toBe(0);
      expect(samples.get("sliproad_rates_held")).toBe(0);
      // The sandbox's rates have no time.
      expect(samples.has("sliproad_rate_age_seconds")).toBe(false);
    } finally {
      await own.close();
    }
  });

  it("read the database once for many scrapes", async () => {
    const own = await startTestServer();
    try {
      const first = await scrape(own);
      await own.core.database.query(
        `insert into tasks (account_id, id, kind, record_id, due_at, created_at)
         values ($1, $1, 'invented', $1, $2, $2)`,
        [own.account_id, new Date(0)],
      );
      const next = await Promise.all([scrape(own), scrape(own), scrape(own)]);
      expect(first.has('sliproad_tasks_due{kind="invented"}')).toBe(false);
      for (const samples of next) {
        expect(samples.has('sliproad_tasks_due{kind="invented"}')).toBe(false);
      }
    } finally {
      await own.close();
    }
  });

  it("of the process are shown while the database cannot be read", async () => {
    const own = await startTestServer();
    try {
      await own.core.database.query("alter table fiat_deposits rename to hidden");
      const samples = await scrape(own);
      expect(samples.get("sliproad_database_up")).toBe(0);
      expect(samples.has("sliproad_deposits_unmatched")).toBe(false);
      expect([...samples.keys()]).toContain("process_resident_memory_bytes");
    } finally {
      await own.close();
    }
  });

  it("never scan a whole table", async () => {
    const { database, clock } = server.core;
    const sources = [
      ...[taskMetrics, webhookMetrics, rateMetrics, offrampMetrics],
      depositMetrics(server.account_id),
    ];
    const plans: string[] = [];
    const explained: Session = {
      ...database,
      query: async (text, values) => {
        const rows = await database.query<{ "QUERY PLAN": string }>(`explain ${text}`, values);
        plans.push(rows.map((row) => row["QUERY PLAN"]).join("\n"));
        return database.query(text, values);
      },
    };
    for (const source of sources) {
      await source.read(explained, { now: clock.now(), real_now: realTime(clock) });
    }
    expect(plans.length).toBeGreaterThan(7);
    // Two tables with few rows: the rates of a few tokens, and the workers.
    const whole = /Seq Scan on (?!rate_checks|worker_heartbeats)\w+/;
    expect(plans.filter((plan) => whole.test(plan))).toEqual([]);
  });
});

describe("sliproad worker", () => {
  it("serves health and metrics on its own port, and nothing else", async () => {
    const port = await freePort();
    const worker = startCommand(["worker"], {
      DATABASE_URL: server.db.url,
      SLIPROAD_DATA_DIR: server.data_dir,
      SLIPROAD_WORKER_PORT: String(port),
    });
    const url = `http://127.0.0.1:${port}`;
    try {
      const ready = await waitFor(() => fetch(`${url}/readyz`).catch(() => null), 60_000);
      expect(await ready.json()).toEqual({ status: "ready" });
      expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: "ok" });
      const samples = samplesOf(await (await fetch(`${url}/metrics`)).text());
      expect(samples.get("sliproad_worker_silent_seconds")).toBeLessThan(30);
      expect(samples.has('sliproad_webhook_attempts_total{result="delivered"}')).toBe(true);
      for (const path of ["/users", "/docs", "/sign-in", "/openapi.json"]) {
        expect((await fetch(`${url}${path}`)).status, path).toBe(404);
      }
      const second = await runCommand(["worker"], {
        DATABASE_URL: server.db.url,
        SLIPROAD_DATA_DIR: server.data_dir,
        SLIPROAD_WORKER_PORT: String(port),
      });
      expect(second.code).toBe(1);
      expect(second.stderr).toContain("set SLIPROAD_WORKER_PORT to another one");
    } finally {
      worker.child.kill("SIGTERM");
      expect((await worker.ended).code).toBe(0);
    }
  }, 90_000);
});

async function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const socket = createServer().listen(0, "127.0.0.1", () => {
    const { port } = socket.address() as { port: number };
    socket.close(() => resolve(port));
  });
  return promise;
}

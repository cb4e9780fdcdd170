import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database, Session } from "../../src/platform/db/database.ts";
import { type Block, sealAll, signingKey } from "../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../src/platform/sealing/signing-seed.ts";
import { realTime } from "../../src/platform/tasks/real-time.ts";
import { type VerifyInput, verify } from "../../src/verify/verify.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { deposit, good, openStory, type Story } from "../offramps/story.ts";

let server: TestServer;
let earlier: Story;
let later: Story;
/** The heads when the first payout was sealed. */
let heads: string[];

beforeAll(async () => {
  server = await startTestServer({ environment: { SLIPROAD_DOCUMENTS: "never" } });
  earlier = await pay();
  await seal();
  heads = (await listHeads()).map(lineOf);
  later = await pay();
  await server.app.worker.stop();
  await seal();
});
afterAll(() => server.close());

const key = () => signingKey(signingSeed(server.core.config));
const seal = () => sealAll(server.core.database, key(), server.core.clock.now());

async function pay(): Promise<Story> {
  const story = await openStory(server);
  await deposit(server, { quote_id: story.quote_id, amount: await story.total() });
  good(await story.execute());
  await story.waitForStatus("fiat_sent");
  return story;
}

/** The newest block of every chain. */
function listHeads(): Promise<Block[]> {
  return server.core.database.query<Block>(
    `select distinct on (account_id, log) * from seal_blocks
     order by account_id, log, number desc`,
  );
}

function lineOf({ account_id, log, number, hash, signature }: Block): string {
  return JSON.stringify({
    ...{ account_id, log, number: String(number), msg: "sealed" },
    ...{ hash: hash.toString("hex"), signature: signature.toString("base64") },
  });
}

type Checked = { fault: string | null; queries: number };

/** What verify reports since the heads after a change, which is rolled back. */
async function check(text: string | null, id: string, is_whole = false): Promise<Checked> {
  const { clock, database } = server.core;
  let queries = 0;
  const undo = new Error("undone");
  let fault: string | null = null;
  const input: VerifyInput = {
    ...{ now: clock.now(), real_now: realTime(clock) },
    onProgress: () => {
      queries += 1;
    },
    ...(is_whole ? {} : { since: linesOf(heads) }),
  };
  await database
    .transaction(async (tx) => {
      await tx.query("set transaction isolation level repeatable read");
      await tx.query("set local session_replication_role = replica");
      if (text !== null) await tx.query(text, [id]);
      // As `verify` starts its own transaction, which would not see the change.
      const query: Session["query"] = (sql, values) =>
        sql.startsWith("set transaction") ? Promise.resolve([]) : tx.query(sql, values);
      const inside = {
        transaction: (work: (tx: never) => unknown) => work({ ...tx, query } as never),
      };
      ({ fault } = await verify(inside as unknown as Database, key(), input));
      throw undo;
    })
    .catch((error) => {
      if (error !== undo) throw error;
    });
  return { fault, queries };
}

async function* linesOf(lines: readonly string[]) {
  yield* ["Sliproad is ready.", ...lines];
}

describe("verify --since", () => {
  it("finds nothing wrong in unchanged data, and reads less than the whole check", async () => {
    const since = await check(null, "");
    expect(since.fault).toBeNull();
    const whole = await check(null, "", true);
    expect(whole.fault).toBeNull();
    expect(since.queries).toBeLessThan(whole.queries);
  });

  it.each([
    ["offramps", "update offramps set destination_amount = 7 where id = $1"],
    ["payouts", "update payouts set status = 'sent' where offramp_id = $1"],
    [
      "payouts",
      "update payouts set updated_at = updated_at + interval '1 s' where offramp_id = $1",
    ],
    ["events", "update events set to_status = 'failed' where record_id = $1 and sequence = 4"],
    [
      "quotes",
      `update quotes set received = received + 1 where id =
        (select quote_id from offramps where id = $1)`,
    ],
    [
      "ledger_balances",
      `insert into ledger_balances (account_id, ledger_account, currency, balance)
        select account_id, 'payout_pending:' || $1, destination_currency, 1 from offramps
        where id = $1::uuid`,
    ],
    [
      "ledger_lines",
      "update ledger_lines set amount = amount + 1 where ledger_account = 'payout_pending:' || $1",
    ],
    ["offramps", "delete from offramps where id = $1"],
  ])(
    "finds a changed or planted row of %s that a later payout depends on",
    async (_table, text) => {
      expect((await check(text, later.offramp_id)).fault).not.toBeNull();
    },
  );

  it("does not read again what was sealed before; the whole check does", async () => {
    const text = "update offramps set destination_amount = 7 where id = $1";
    expect((await check(text, earlier.offramp_id)).fault).toBeNull();
    expect((await check(text, earlier.offramp_id, true)).fault).toContain(earlier.offramp_id);
  });

  it("finds an earlier entry that was deleted, and a block that was removed", async () => {
    const entry = "delete from events where record_id = $1 and sequence = 1";
    expect((await check(entry, earlier.offramp_id)).fault).toMatch(/^events entry /);
    const block = "delete from seal_blocks where account_id = $1 and log = 'events' and number = 1";
    expect((await check(block, server.account_id)).fault).not.toBeNull();
  });
});

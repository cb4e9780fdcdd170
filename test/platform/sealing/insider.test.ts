import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordAudit } from "../../../src/accounts/audit.ts";
import { digestEntry, owedTo } from "../../../src/ledger/model.ts";
import { newId } from "../../../src/platform/ids.ts";
import { bindMacs, macsOf } from "../../../src/platform/sealing/row-mac.ts";
import { digestOf, sealAll, signingKey } from "../../../src/platform/sealing/seal.ts";
import { signingSeed } from "../../../src/platform/sealing/signing-seed.ts";
import { findFault } from "../../../src/verify/verify.ts";
import { addOwedUser } from "../../approvals/proposal-fixture.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";

/*
 * Whoever can write SQL, but has no key of the service: digests need none, so everything that the
 * service itself would insert can be inserted, except MACs.
 */

const lines: string[] = [];
let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ log_destination: { write: (line) => lines.push(line) } });
});
afterAll(() => server.close());

const now = () => server.core.clock.now();
const key = () => signingKey(signingSeed(server.core.config));
const sql = (text: string, values: unknown[]) => server.db.database.query(text, values);

const plantNote = (account_id: string, log: string, id: string, digest: Buffer, mac?: Buffer) =>
  sql(
    `insert into seal_pending (account_id, log, entry_id, digest, mac, noted_at)
     values ($1, $2, $3, $4, $5, $6)`,
    [account_id, log, id, digest, mac ?? null, now()],
  );

async function plantEntry(account_id: string, ledger_account: string, amount: bigint) {
  const posted = [
    { ledger_account: "wallet:polygon", currency: "usdc", amount },
    { ledger_account, currency: "usdc", amount: -amount },
  ];
  const entry = { account_id, id: newId(now()), key: `deposit:${randomUUID()}` };
  const row = { ...entry, kind: "deposit_received", created_at: now(), lines: posted };
  await sql(
    `insert into ledger_entries (account_id, id, key, kind, created_at)
     values ($1, $2, $3, $4, $5)`,
    [account_id, row.id, row.key, row.kind, row.created_at],
  );
  for (const [at, line] of posted.entries()) {
    await sql(
      `insert into ledger_lines (account_id, entry_id, number, ledger_account, currency, amount)
       values ($1, $2, $3, $4, $5, $6)`,
      [account_id, row.id, at + 1, line.ledger_account, line.currency, line.amount],
    );
  }
  await plantNote(account_id, "ledger", row.id, digestEntry(row));
  await sql(
    `update ledger_balances set balance = balance + $3 where account_id = $1
     and ledger_account = $2`,
    [account_id, ledger_account, amount],
  );
  return row.id;
}

async function plantAudit(account_id: string, mac?: Buffer): Promise<string> {
  const [id, at] = [newId(now()), now()];
  const rest = ["command line", "account.update", "act:1", "planted", "{}"];
  await sql(
    `insert into audit_entries (account_id, id, at, actor, action, record, reason, detail)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [account_id, id, at, ...rest],
  );
  await plantNote(
    account_id,
    "audit",
    id,
    digestOf(account_id, id, at.toISOString(), ...rest),
    mac,
  );
  return id;
}

async function plantEvent(account_id: string): Promise<string> {
  const [id, record_id, at] = [newId(now()), randomUUID(), now()];
  const facts = Buffer.alloc(32);
  await sql(
    `insert into events (account_id, id, name, record_id, sequence, to_status, facts, created_at)
     values ($1, $2, 'kyc_update', $3, 1, 'approved', $4, $5)`,
    [account_id, id, record_id, facts, at],
  );
  const digest = digestOf(
    ...[account_id, id, "kyc_update", record_id, 1, null, "approved", facts.toString("base64")],
    ...[null, at.toISOString(), null, null, null, null, null],
  );
  await plantNote(account_id, "events", id, digest);
  return id;
}

async function isListed(table: "seal_blocks" | "seal_rejected", id: string): Promise<boolean> {
  const where = table === "seal_blocks" ? "$1 = any (entry_ids)" : "entry_id = $1";
  return (await sql(`select from ${table} where ${where}`, [id])).length > 0;
}

const faultOf = (account_id: string) =>
  server.core.database.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read, read only");
    return findFault(tx, key(), account_id, now());
  });

describe("an entry planted by SQL is set aside by the sealer, and the others are sealed", () => {
  it.each([
    ["audit", plantAudit],
    ["events", plantEvent],
    ["ledger", (account_id: string) => plantEntry(account_id, owedTo(randomUUID(), "base"), 5n)],
  ])("%s", async (log, plant) => {
    const { account_id } = await server.addAccount(`Planted in ${log}`);
    const id = await plant(account_id);
    await waitFor(async () => (await isListed("seal_rejected", id)) || null);
    await server.core.database.transaction(async (tx) => {
      const entry = { account_id, actor: "command line", action: "account.update" } as const;
      recordAudit(tx, { ...entry, record: "act:2", reason: "" }, now());
    });
    await waitFor(async () => {
      const rows = await sql("select from seal_pending where account_id = $1", [account_id]);
      return rows.length === 0 || null;
    });
    expect(await isListed("seal_blocks", id)).toBe(false);
    const own = await sql(
      `select from audit_entries a where account_id = $1 and record <> 'act:1' and not exists (
         select from seal_blocks b where b.account_id = a.account_id and a.id = any (entry_ids))`,
      [account_id],
    );
    expect(own).toEqual([]);
    const fault = `${log} entry ${id} of account ${account_id}: it was not written by this service`;
    expect(await faultOf(account_id)).toBe(fault);
    const alarm = lines.map((line) => JSON.parse(line)).find((line) => line.entry_ids?.[0] === id);
    expect(alarm).toMatchObject({ level: 50, account_id, log, entries: 1 });
  });

  it("verify names it before the sealer has looked, too", async () => {
    const { account_id } = await server.addAccount("Not yet looked at");
    const fault = await server.core.database
      .transaction(async (tx) => {
        const [id, at] = [newId(now()), now()];
        const digest = digestOf(account_id, id, at.toISOString(), "", "", "", "", "{}");
        await tx.query(
          `with entry as (insert into audit_entries
             (account_id, id, at, actor, action, record, reason, detail)
             values ($1, $2, $3, '', '', '', '', '{}'))
           insert into seal_pending (account_id, log, entry_id, digest, noted_at)
           values ($1, 'audit', $2, $4, $3)`,
          [account_id, id, at, digest],
        );
        throw new Error(String(await findFault(tx, key(), account_id, now())));
      })
      .catch((error: Error) => error.message);
    expect(fault).toMatch(/: it was not written by this service$/);
  });

  it("the operator is told by /readyz, which stays ready, by a metric and by doctor", async () => {
    const ready = await server.call("GET", "/readyz", undefined, { key: null });
    expect(ready.status).toBe(200);
    expect(ready.body.notices).toContainEqual(
      "The logs have 3 entries that this service did not write: somebody has written to the " +
        "database. Run sliproad verify.",
    );
    const metrics = await server.call("GET", "/metrics", undefined, { key: null });
    expect(metrics.text).toContain("sliproad_log_entries_rejected 3");
  });
});

describe("money that SQL made up does not leave", () => {
  it("neither from a planted deposit", async () => {
    const user = await addOwedUser(server, 100);
    const id = await plantEntry(server.account_id, owedTo(user.user_id, "polygon"), 500_000_000n);
    expect((await user.refund(300)).status).toBe(500);
    expect((await user.refund(50)).status).toBe(500);
    await waitFor(async () => (await isListed("seal_rejected", id)) || null);
    expect((await user.refund(300)).status).toBe(500);
    expect(await sql("select from refunds where user_id = $1", [user.user_id])).toEqual([]);
  });

  it("nor from a raised balance, nor from one put back after it was spent", async () => {
    const user = await addOwedUser(server, 100);
    const of_user = "where account_id = $1 and ledger_account = $2";
    const place = [server.account_id, owedTo(user.user_id, "polygon")];
    const [before] = await sql(`select * from ledger_balances ${of_user}`, place);
    await sql(`update ledger_balances set balance = 900000000 ${of_user}`, place);
    expect((await user.refund(300)).status).toBe(500);
    await sql(`update ledger_balances set balance = $3 ${of_user}`, [...place, before!.balance]);
    expect((await user.refund(60)).status).toBe(200);
    await sql(`update ledger_balances set balance = $3, last_entry_id = $4, mac = $5 ${of_user}`, [
      ...place,
      before!.balance,
      before!.last_entry_id,
      before!.mac,
    ]);
    expect((await user.refund(60)).status).toBe(500);
    const refunds = await sql("select from refunds where user_id = $1", [user.user_id]);
    expect(refunds).toHaveLength(1);
  });
});

describe("the version of the key", () => {
  beforeAll(() => server.app.worker.stop());

  it("of an entry may not be one that was replaced long ago", async () => {
    const { account_id } = await server.addAccount("Retired key");
    const macs = macsOf(server.core.database);
    bindMacs(server.core.database, { ...macs, isRetired: (version) => version === 1 });
    await sealAll(server.core.database, key(), now());
    bindMacs(server.core.database, macs);
    const rejected = await sql("select from seal_rejected where account_id = $1", [account_id]);
    expect(rejected).toHaveLength(2);
  });

  it("that this process cannot read stops sealing, and sets nothing aside", async () => {
    const { account_id } = await server.addAccount("Unread key");
    const id = await plantAudit(account_id, Buffer.alloc(17, 2));
    const macs = macsOf(server.core.database);
    const refresh = async () => {
      throw new Error("the key service does not answer");
    };
    bindMacs(server.core.database, { ...macs, refresh });
    await expect(sealAll(server.core.database, key(), now())).rejects.toThrow("does not answer");
    expect(await isListed("seal_rejected", id)).toBe(false);
    bindMacs(server.core.database, macs);
    await sealAll(server.core.database, key(), now());
    expect(await isListed("seal_rejected", id)).toBe(true);
  });
});

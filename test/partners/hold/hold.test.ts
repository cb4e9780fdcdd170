import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { checkHold } from "../../../src/cli/doctor/checks.ts";
import { holdAll, readStatus, releaseAll } from "../../../src/cli/payouts/actions.ts";
import { createLeavingGate, type LeavingGate } from "../../../src/partners/hold/leaving-gate.ts";
import { openRestoreFile } from "../../../src/partners/hold/restore-file.ts";
import { runCommand } from "../../harness/command-line.ts";
import { addApprovedUser, addQuote } from "../../harness/ramp.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { advance, findFault, good, openStory, settle } from "../../offramps/story.ts";
import { openOnramp, receive } from "../../onramps/story.ts";

let server: TestServer;
let folder: string;
let path: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sliproad-hold-"));
  path = join(folder, "restore-check.json");
  const environment = { SLIPROAD_DOCUMENTS: "never", SLIPROAD_RESTORE_CHECK_FILE: path };
  server = await startTestServer({ environment });
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

function sliproad(...args: string[]) {
  const place = { DATABASE_URL: server.db.url, SLIPROAD_DATA_DIR: server.data_dir };
  return runCommand(["payouts", ...args], { ...place, SLIPROAD_RESTORE_CHECK_FILE: path });
}

const query = (text: string) => server.core.database.query(text);
const release = () => query("update payout_holds set released_at = held_at, release_reason = 'x'");

describe("payouts on hold", { timeout: 120_000 }, () => {
  it("leave by no door, and all of them once they are released", async () => {
    expect((await sliproad("status")).stdout).toBe("Payouts are not on hold.\n");
    const held = await sliproad("hold", "--reason", "a wrong file");
    expect(held).toMatchObject({ code: 0, stdout: expect.stringContaining("are on hold.") });

    const story = await openStory(server, [{ amount: 100 }]);
    good(await story.execute());
    await story.waitForStatus("sending_fiat");
    const user_id = await addApprovedUser(server);
    const quote_id = await addQuote(server, user_id);
    const from = `0x${"5a".repeat(20)}`;
    const crypto_deposit = { quote_id, token: "usdc", amount: 50, from };
    good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
    await settle(server);
    const refund = { token: "usdc", chain: "polygon", amount: 50, address: from };
    good(await server.call("POST", `/users/${user_id}/refunds`, { refund }));
    const refunds = async () => good(await server.call("GET", `/users/${user_id}/refunds`)).refunds;
    const onramp = await openOnramp(server, {});
    await receive(server, { amount: onramp.amount, deposit_message: onramp.code });
    await waitFor(async () => (await onramp.show()).status === "sending_fiat");

    // However often the tasks run.
    for (let round = 0; round < 3; round += 1) await advance(server, 30_000);
    expect((await story.show()).status).toBe("sending_fiat");
    expect((await refunds())[0].status).toBe("sending");
    expect((await onramp.show()).status).toBe("sending_fiat");
    expect(await query("select from sandbox_bank_payouts")).toEqual([]);
    expect(await query("select from sandbox_sends")).toEqual([]);

    const { body } = await server.call("GET", "/readyz", undefined, { key: null });
    expect(body).toEqual({
      status: "ready",
      notices: ["Payouts are on hold; see sliproad payouts status."],
    });
    const status = await sliproad("status", "--json");
    expect(JSON.parse(status.stdout)).toMatchObject({
      held: true,
      holds: [{ kind: "operator", reason: "a wrong file" }],
    });

    const released = await sliproad("release", "--reason", "checked");
    expect(released).toMatchObject({ code: 0, stdout: "Payouts are released.\n" });
    await advance(server, 30_000);
    await story.waitForStatus("fiat_sent");
    await waitFor(async () => (await refunds())[0].status === "sent");
    await waitFor(async () => (await onramp.show()).status === "crypto_sent");
    expect(await findFault(server)).toBeNull();
    const log = await query(
      "select action, reason from audit_entries where action like 'payouts.%' order by at, id",
    );
    expect(log).toEqual([
      { action: "payouts.hold", reason: "a wrong file" },
      { action: "payouts.release", reason: "checked" },
    ]);
  });

  it("are told by /metrics and doctor", async () => {
    const metric = async () => {
      const { text } = await server.call("GET", "/metrics", undefined, { key: null });
      return /^sliproad_payouts_held\{kind="operator"\} (\d)$/m.exec(text)?.[1];
    };
    expect(await metric()).toBe("0");
    await holdAll(server.core, "again");
    expect(await checkHold(server.core)).toMatchObject({
      ...{ check: "payouts", ok: true, warning: true },
      finding: expect.stringContaining("on hold since"),
    });
    await waitFor(async () => (await metric()) === "1");
    await releaseAll(server.core, { reason: "a test", anyway: false });
  });
});

it("verify names holds and proven rails that somebody changed in the database", async () => {
  expect(await findFault(server)).toBeNull();
  await holdAll(server.core, "before it is changed");
  expect(await findFault(server)).toBeNull();
  const open = "payout_holds where released_at is null";
  await query(`create table removed as select * from ${open}`);
  await query(`delete from ${open}`);
  expect(await findFault(server)).toBe("the holds of payouts are not those of the audit log");
  await query("insert into payout_holds select * from removed");
  await query("update payout_holds set released_at = held_at, release_reason = 'x'");
  expect(await findFault(server)).toBe("payouts were released without an entry of the audit log");
  await query("delete from payout_holds h using removed where h.id = removed.id");
  await query("insert into payout_holds select * from removed");
  await releaseAll(server.core, { reason: "a test", anyway: false });
  expect(await findFault(server)).toBeNull();
  await query("insert into proven_rails values ('aed', 'local', '2026-01-01', 'main-aed')");
  expect(await findFault(server)).toBe(
    "payouts in aed by local from main-aed count as proven, but none was booked",
  );
  await query("delete from proven_rails where currency = 'aed'");
});

describe("a restored database", { timeout: 60_000 }, () => {
  afterEach(release);

  const gateOf = (file_path = path) =>
    createLeavingGate({
      ...server.core,
      file: openRestoreFile(file_path, server.account_id),
      isSaidHeld: async () => false,
    });
  const releaseNow = () => releaseAll(server.core, { reason: "a test", anyway: false });
  const kinds = () => query("select kind from payout_holds where released_at is null");
  const setCount = (count: number) => query(`update leaving_counts set count = ${count}`);

  it("counts less than the file outside of it: nothing leaves until a person releases it", async () => {
    const gate = gateOf();
    const before = await query("select count from leaving_counts");
    for (let time = 0; time < 3; time += 1) expect(await gate.mayLeave()).toBe(true);
    const count = (before[0] as { count: bigint }).count + 3n;
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({
      ...{ installation_id: server.account_id, count: String(count) },
    });

    await setCount(Number(count) - 1);
    expect(await gate.mayLeave()).toBe(false);
    expect(await kinds()).toEqual([{ kind: "restore" }]);
    expect(await gate.mayLeave()).toBe(false);
    expect(await readStatus(server.core)).toMatchObject({
      held: true,
      holds: [{ kind: "restore" }],
    });
    expect(await releaseNow()).toEqual({ was_held: true });
    expect(await gate.mayLeave()).toBe(true);
    expect(await kinds()).toEqual([]);
  });

  it("is noticed by the worker although nothing wants to leave", async () => {
    expect(await gateOf().mayLeave()).toBe(true);
    await setCount(0);
    await waitFor(async () => {
      await advance(server, 10_000);
      return (await kinds()).length > 0;
    });
    expect(await kinds()).toEqual([{ kind: "restore" }]);
    await releaseNow();
  });

  it("is noticed by the block that was sealed last, although nothing had left", async () => {
    const [block] = await query("select * from seal_blocks order by number desc limit 1");
    const { account_id, log, number, hash } = block as Parameters<LeavingGate["noteSealed"]>[0];
    const anchor = { account_id, log, number: String(number), hash: hash.toString("hex") };
    const sealed = join(folder, "sealed.json");
    const known = { installation_id: server.account_id, count: "0" };
    const check = async (said: object) => {
      await writeFile(sealed, JSON.stringify({ ...known, anchor: said }));
      return gateOf(sealed).checkRestored();
    };
    const readSealed = async () => JSON.parse(await readFile(sealed, "utf8"));
    expect(await check(anchor)).toBeNull();
    expect(await gateOf(sealed).mayLeave()).toBe(true);
    expect((await readSealed()).anchor).toEqual(anchor);
    for (const missing of [{ number: "999999" }, { hash: "00".repeat(32) }]) {
      expect(await check({ ...anchor, ...missing })).toContain("The database is older than");
      expect(await kinds()).toEqual([{ kind: "restore" }]);
      expect(await gateOf(sealed).mayLeave()).toBe(false);
      // The hold stands for it: it does not come back after its release.
      await releaseNow();
      expect(await gateOf(sealed).mayLeave()).toBe(true);
    }
    await gateOf(sealed).noteSealed({ account_id, log, number, hash });
    expect((await readSealed()).anchor).toEqual(anchor);
    await expect(check({ ...anchor, number: "x" })).rejects.toThrow("is not such a file");
  });

  it("has the newest block of the sealer in its file", async () => {
    await holdAll(server.core, "an entry to seal");
    await releaseNow();
    await waitFor(async () => {
      await advance(server, 5_000);
      const [last] = await query(
        "select max(number)::text as number from seal_blocks where log = 'audit'",
      );
      const { anchor } = JSON.parse(await readFile(path, "utf8"));
      return anchor?.log === "audit" && anchor.number === last!.number;
    });
    expect(await gateOf().checkRestored()).toBeNull();
  });

  it("is suspected where the file is gone, also if nothing had left at the backup", async () => {
    const lost = join(folder, "lost.json");
    await setCount(0);
    expect(await gateOf(lost).checkRestored()).toBeNull();
    // The backup is made here; then payments leave, and both database and file are lost.
    await rm(lost);
    expect(await gateOf(lost).mayLeave()).toBe(false);
    expect(await kinds()).toEqual([{ kind: "restore" }]);
    await releaseNow();
  });

  it("is suspected where the file is gone, and not before it was created", async () => {
    const other = join(folder, "other.json");
    await setCount(0);
    expect(await gateOf(other).checkRestored()).toBeNull();
    expect(await gateOf(other).mayLeave()).toBe(true);
    await rm(other);
    expect(await gateOf(other).mayLeave()).toBe(false);
    expect(await kinds()).toEqual([{ kind: "restore" }]);
    await releaseNow();
    expect(await gateOf(other).mayLeave()).toBe(true);
  });

  it("is not assumed after a crash between the count and the file", async () => {
    const crashed = join(folder, "crashed.json");
    await setCount(5);
    await writeFile(crashed, JSON.stringify({ installation_id: server.account_id, count: "4" }));
    expect(await gateOf(crashed).mayLeave()).toBe(true);
    expect(JSON.parse(await readFile(crashed, "utf8")).count).toBe("6");
  });

  it("counts in the file what many leave at once, and never back", async () => {
    const many = join(folder, "many.json");
    await setCount(0);
    await gateOf(many).checkRestored();
    const gates = [gateOf(many), gateOf(many), gateOf(many)];
    await Promise.all(Array.from({ length: 30 }, (_, at) => gates[at % 3]!.mayLeave()));
    // The first one says that there is a file.
    expect(JSON.parse(await readFile(many, "utf8")).count).toBe("31");
  });

  it("does not start with the file of another one", async () => {
    const foreign = openRestoreFile(path, crypto.randomUUID());
    expect(() => foreign.read()).toThrow(
      `SLIPROAD_RESTORE_CHECK_FILE: ${path} belongs to another database.`,
    );
  });
});

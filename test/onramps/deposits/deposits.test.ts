import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createDepositCode, isDepositCode } from "../../../src/onramps/deposits/deposit-code.ts";
import { takeCredits } from "../../../src/onramps/deposits/record-credits.ts";
import { listEarlierLines } from "../../../src/onramps/deposits/store.ts";
import { createSandboxChain } from "../../../src/partners/chain/sandbox.ts";
import { HOUR_MS, MINUTE_MS } from "../../../src/platform/durations.ts";
import { createScriptedBank, type ScriptedBank } from "../../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../../harness/server.ts";
import {
  advance,
  expectRefusal,
  findFault,
  good,
  ledgerBalance,
  settle,
} from "../../offramps/story.ts";
import { act, credit, listUnmatched, openOnramp, receive, showDeposit } from "../story.ts";

/** Four symbols that form a valid code together with the eight before them. */
function wordAfter(eight: string): string {
  const symbols = [..."23456789ABCDEFGHJKMNPQRSTUVWXYZ"];
  const last = symbols.find((symbol) => isDepositCode(`${eight}ABC${symbol}`));
  return `ABC${last}`;
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const suspense = (currency = "usd") => ledgerBalance(server, "suspense", currency);

describe("a deposit that does not match waits for the operator", () => {
  it.each([
    ["short", { amount: 1003.99 }],
    ["over", { amount: 1004.01 }],
    ["wrong_currency", { amount: 1004, currency: "eur" }],
  ])("%s", async (reason, wrong) => {
    const onramp = await openOnramp(server);
    const deposit = await receive(server, { deposit_message: onramp.code, ...wrong });
    expect(deposit).toMatchObject({ status: "unmatched", reason, onramp_id: onramp.id });
    expect((await onramp.show()).status).toBe("initiated");
    expect(await findFault(server)).toBeNull();
  });

  it("a second deposit for the same onramp", async () => {
    const onramp = await openOnramp(server);
    await receive(server, { amount: 1004, deposit_message: onramp.code });
    const again = await receive(server, { amount: 1004, deposit_message: onramp.code });
    expect(again).toMatchObject({ status: "unmatched", reason: "double" });
    expect(await suspense()).not.toBe(0n);
    expect(await findFault(server)).toBeNull();
  });

  it("one received after 24 hours, and one for a failed onramp", async () => {
    const late = await openOnramp(server);
    const on_time = await openOnramp(server);
    await advance(server, 24 * HOUR_MS - 60_000);
    const in_time = await receive(server, { amount: 1004, deposit_message: on_time.code });
    expect(in_time.status).toBe("matched");
    await advance(server, 2 * MINUTE_MS);
    const deposit = await receive(server, { amount: 1004, deposit_message: late.code });
    expect(deposit).toMatchObject({ status: "unmatched", reason: "late" });
    await advance(server, 7 * 24 * HOUR_MS);
    const later = await receive(server, { amount: 1004, deposit_message: late.code });
    expect(later).toMatchObject({ status: "unmatched", reason: "closed" });
  });

  it("a text without a code, with an unknown one, or with two", async () => {
    const [one, two] = [await openOnramp(server), await openOnramp(server)];
    const texts = [
      ["no_code", "salary november"],
      ["unknown_code", "2345-6789-ABCZ"],
      ["two_codes", `${one.code} / ${two.code}`],
    ];
    const [, unknown] = texts[1]!;
    const right = [..."23456789ABCDEFGHJKMNPQRSTUVWXYZ"].find((symbol) =>
      isDepositCode(unknown!.replaceAll("-", "").slice(0, 11) + symbol),
    );
    texts[1]![1] = unknown!.slice(0, -1) + right;
    for (const [reason, deposit_message] of texts) {
      const deposit = await receive(server, { amount: 1004, deposit_message: deposit_message! });
      expect(deposit).toMatchObject({ status: "unmatched", reason });
    }
    expect((await one.show()).status).toBe("initiated");
    const ids = (await listUnmatched(server)).map((deposit: { reason: string }) => deposit.reason);
    expect(ids).toEqual(expect.arrayContaining(["no_code", "unknown_code", "two_codes"]));
  });

  it("a known code next to one that was never issued; overlapping codes do not count", async () => {
    const onramp = await openOnramp(server);
    const strange = createDepositCode();
    const text = `${onramp.code}, ${strange}`;
    const deposit = await receive(server, { amount: 1004, deposit_message: text });
    expect(deposit).toMatchObject({ status: "unmatched", reason: "two_codes" });
    // The last two groups of the code and one more word have the form of a code by chance.
    const [, second, third] = onramp.code.split("-");
    const word = wordAfter(second! + third!);
    const fine = await receive(server, {
      amount: 1004,
      deposit_message: `${onramp.code} ${word}`,
    });
    expect(fine.status).toBe("matched");
  });

  it("lateness is reported before excess: an operator who accepts another amount learns that the rate has lapsed", async () => {
    const onramp = await openOnramp(server);
    await advance(server, 25 * HOUR_MS);
    const deposit = await receive(server, { amount: 2000, deposit_message: onramp.code });
    expect(deposit.reason).toBe("late");
  });

  it("the same reference and amount again is the same deposit", async () => {
    const onramp = await openOnramp(server);
    const line = { amount: 1004, deposit_message: onramp.code, bank_reference: "once" };
    const first = await receive(server, line);
    const again = await receive(server, line);
    expect(again).toEqual(first);
    expect(await findFault(server)).toBeNull();
  });

  it("the same reference with another amount is listed, not dropped, and not posted", async () => {
    const onramp = await openOnramp(server);
    const line = { deposit_message: onramp.code, bank_reference: "twice" };
    await receive(server, { ...line, amount: 1004 });
    const before = await suspense();
    const conflict = await receive(server, { ...line, amount: 2004 });
    expect(conflict).toMatchObject({ status: "unmatched", reason: "conflict", amount: 2004 });
    expect(await suspense()).toBe(before);
    expect(await findFault(server)).toBeNull();
    expect(good(await act(server, conflict.id, "dismiss")).deposit.status).toBe("dismissed");
    expectRefusal(await act(server, conflict.id, "return"), "invalid_transition");
    expect(await findFault(server)).toBeNull();
  });
});

describe("a reference that many lines have", () => {
  it("is refused in sandbox above 100 amounts; a line that it has is still the same", async () => {
    const line = { deposit_message: "nobody's", bank_reference: "many" };
    const first = await receive(server, { ...line, amount: 1 });
    const { core, account_id } = server;
    const more = Array.from({ length: 99 }, (_, at) =>
      credit(server, {
        ...{ bank_account: "sandbox-usd", bank_reference: "many" },
        amount: BigInt(at + 1_000),
      }),
    );
    await takeCredits(
      { ...core, bank: createScriptedBank().port, operator_id: account_id },
      more,
      core.clock.now(),
    );
    const refused = await server.call("POST", "/sandbox/deposits", {
      deposit: { ...line, amount: 7, currency: "usd" },
    });
    expectRefusal(refused, "record_invalid");
    expect(refused.body.errors[0].message).toContain("100 deposits");
    expect(await receive(server, { ...line, amount: 1 })).toEqual(first);
    // Whatever the number of lines, the next one is compared with two of them.
    const earlier = await listEarlierLines(core.database, account_id, [more[50]!]);
    expect(earlier.map(({ amount }) => amount)).toEqual([100n, 1_050n]);
    expect(await findFault(server)).toBeNull();
  });
});

describe("the operator decides", () => {
  it("match: a deposit without a code pays the onramp it is matched with", async () => {
    const onramp = await openOnramp(server);
    const deposit = await receive(server, { amount: 1004, deposit_message: "forgot the code" });
    const answer = good(await act(server, deposit.id, "match", { onramp_id: onramp.id }));
    expect(answer.deposit.status).toBe("matching");
    await settle(server);
    expect(await showDeposit(server, deposit.id)).toMatchObject({ status: "matched" });
    expect((await onramp.show()).status).toBe("crypto_sent");
    expect(await findFault(server)).toBeNull();
  });

  it("match: a late deposit pays the onramp that it names, at the onramp's rate", async () => {
    const onramp = await openOnramp(server);
    await advance(server, 25 * HOUR_MS);
    const deposit = await receive(server, { amount: 1004, deposit_message: onramp.code });
    good(await act(server, deposit.id, "match"));
    await settle(server);
    expect((await onramp.show()).status).toBe("crypto_sent");
  });

  it("match is refused for another amount or currency, and the message says what to do", async () => {
    const onramp = await openOnramp(server);
    const short = await receive(server, { amount: 1, deposit_message: onramp.code });
    const refused = await act(server, short.id, "match", {});
    expectRefusal(refused, "invalid_transition");
    expect(refused.body.message).toContain("accept_difference");
    const eur = await receive(server, { amount: 1004, currency: "eur", deposit_message: "x" });
    expectRefusal(
      await act(server, eur.id, "match", { onramp_id: onramp.id }),
      "currency_mismatch",
    );
    expectRefusal(
      await act(server, eur.id, "accept_difference", { onramp_id: onramp.id }),
      "currency_mismatch",
    );
  });

  it("match reports what is missing, malformed or unknown", async () => {
    const deposit = await receive(server, { amount: 1004, deposit_message: "nothing" });
    expectRefusal(await act(server, deposit.id, "match", {}), "parameter_missing");
    expectRefusal(await act(server, deposit.id, "match", { onramp_id: "x" }), "record_invalid");
    const nobody = { onramp_id: crypto.randomUUID() };
    expectRefusal(await act(server, deposit.id, "match", nobody), "record_not_found");
    expectRefusal(await act(server, crypto.randomUUID(), "match", {}), "record_not_found");
  });

  it("accept_difference, short: delivered in full, the missing amount is in short_deposits", async () => {
    const before = await ledgerBalance(server, "short_deposits", "usd");
    const onramp = await openOnramp(server);
    const deposit = await receive(server, { amount: 1000, deposit_message: onramp.code });
    good(await act(server, deposit.id, "accept_difference", {}));
    await settle(server);
    expect(await onramp.show()).toMatchObject({ status: "crypto_sent", destination_amount: 1000 });
    expect(await ledgerBalance(server, "short_deposits", "usd")).toBe(before + 400n);
    expect(await findFault(server)).toBeNull();
  });

  it("accept_difference, over: delivered, and the excess is a deposit of its own", async () => {
    const onramp = await openOnramp(server);
    const before = await suspense();
    const deposit = await receive(server, { amount: 1104.5, deposit_message: onramp.code });
    good(await act(server, deposit.id, "accept_difference", {}));
    await settle(server);
    expect(await showDeposit(server, deposit.id)).toMatchObject({
      status: "matched",
      amount: 1104.5,
      matched_amount: 1004,
    });
    expect((await onramp.show()).status).toBe("crypto_sent");
    const [excess] = await listUnmatched(server);
    expect(excess).toMatchObject({
      amount: 100.5,
      reason: "excess",
      bank_reference: deposit.bank_reference,
    });
    expect(await suspense()).toBe(before - 10_050n);
    expect(await findFault(server)).toBeNull();
    good(await act(server, excess.id, "return"));
    await settle(server);
    expect((await showDeposit(server, excess.id)).status).toBe("returned");
    expect(await suspense()).toBe(before);
    expect(await findFault(server)).toBeNull();
  });

  it("return: the bank gets it back, and suspense is as before", async () => {
    const before = {
      suspense: await suspense(),
      bank: await ledgerBalance(server, "bank:sandbox-usd", "usd"),
    };
    const deposit = await receive(server, { amount: 55, deposit_message: "who is this" });
    good(await act(server, deposit.id, "return"));
    await settle(server);
    expect(await showDeposit(server, deposit.id)).toMatchObject({
      status: "returned",
      reason: null,
    });
    expect(await suspense()).toBe(before.suspense);
    expect(await ledgerBalance(server, "bank:sandbox-usd", "usd")).toBe(before.bank);
    const [sent] = await server.db.database.query<{ amount: bigint }>(
      "select amount from sandbox_bank_returns where key = $1",
      [`deposit:${deposit.id}:1`],
    );
    expect(sent).toEqual({ amount: 5_500n });
    expect(await findFault(server)).toBeNull();
  });

  it("of two lines of one bank reference one is returned, and the other dismissed with it", async () => {
    const bank = await ledgerBalance(server, "bank:sandbox-usd", "usd");
    const line = { deposit_message: "conflict", bank_reference: "conflict-return" };
    const first = await receive(server, { ...line, amount: 10 });
    const conflict = await receive(server, { ...line, amount: 11 });
    const third = await receive(server, { ...line, amount: 12 });
    const answers = await Promise.all(
      [first, conflict, third].map(({ id }) => act(server, id, "return")),
    );
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(2);
    for (const answer of refused) expectRefusal(answer, "invalid_transition");
    await settle(server);
    const shown = await Promise.all(
      [first, conflict, third].map(({ id }) => showDeposit(server, id)),
    );
    const statuses = shown.map(({ status }: { status: string }) => status).sort();
    expect(statuses).toEqual(["dismissed", "dismissed", "returned"]);
    expect(await ledgerBalance(server, "bank:sandbox-usd", "usd")).toBe(bank);
    expect(await findFault(server)).toBeNull();
  });

  it("a line that the bank corrected is dismissed once the correction is posted", async () => {
    const onramp = await openOnramp(server);
    const before = {
      suspense: await suspense(),
      bank: await ledgerBalance(server, "bank:sandbox-usd", "usd"),
    };
    const line = { deposit_message: onramp.code, bank_reference: "corrected" };
    const wrong = await receive(server, { ...line, amount: 104 });
    expectRefusal(await act(server, wrong.id, "dismiss"), "invalid_transition");
    const right = await receive(server, { ...line, amount: 1004 });
    good(await act(server, right.id, "match"));
    await settle(server);
    expect((await onramp.show()).status).toBe("crypto_sent");
    expect((await showDeposit(server, wrong.id)).status).toBe("dismissed");
    expect(await suspense()).toBe(before.suspense);
    expect(await ledgerBalance(server, "bank:sandbox-usd", "usd")).toBe(before.bank + 100_400n);
    expectRefusal(await act(server, wrong.id, "return"), "invalid_transition");
    expect(await findFault(server)).toBeNull();
  });

  it("50 decisions at once: one is accepted, the others are refused", async () => {
    const onramp = await openOnramp(server);
    const deposit = await receive(server, { amount: 1004, deposit_message: "fifty" });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        at % 2 === 0
          ? act(server, deposit.id, "match", { onramp_id: onramp.id })
          : act(server, deposit.id, "accept_difference", { onramp_id: onramp.id }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expectRefusal(answer, "invalid_transition");
    }
    await settle(server);
    expect(await findFault(server)).toBeNull();
  });

  it("two deposits matched with one onramp at once: one pays it, the other waits again", async () => {
    const onramp = await openOnramp(server);
    const deposits = [
      await receive(server, { amount: 1004, deposit_message: "first" }),
      await receive(server, { amount: 1004, deposit_message: "second" }),
    ];
    await Promise.all(deposits.map(({ id }) => act(server, id, "match", { onramp_id: onramp.id })));
    await settle(server);
    const after = await Promise.all(deposits.map(({ id }) => showDeposit(server, id)));
    expect(after.map(({ status }) => status).sort()).toEqual(["matched", "unmatched"]);
    expect(await findFault(server)).toBeNull();
  });
});

describe("accounts", () => {
  it("the operator matches a deposit with another account's onramp; both ledgers are right", async () => {
    const other = await server.addAccount("Invented Tenant");
    const onramp = await openOnramp(server, {}, other.key);
    const by_code = await openOnramp(server, {}, other.key);
    const deposit = await receive(server, { amount: 1004, deposit_message: "no code" });
    good(await act(server, deposit.id, "match", { onramp_id: onramp.id }));
    await receive(server, { amount: 1004, deposit_message: by_code.code });
    await settle(server);
    expect((await onramp.show()).status).toBe("crypto_sent");
    expect((await by_code.show()).status).toBe("crypto_sent");
    const [bank] = await server.db.database.query<{ sum: string }>(
      `select sum(amount)::text from ledger_lines
       where account_id = $1 and ledger_account = 'bank:sandbox-usd' and currency = 'usd'`,
      [other.account_id],
    );
    expect(bank).toEqual({ sum: "200800" });
    expect(await findFault(server)).toBeNull();
  });

  it("another account's key learns nothing by a deposit's bank reference", async () => {
    const onramp = await openOnramp(server);
    const line = { amount: 1004, currency: "usd", bank_reference: "known to another" };
    await receive(server, { ...line, deposit_message: onramp.code });
    const { key } = await server.addAccount("Invented Reader");
    const asked = { deposit: { ...line, deposit_message: "zz" } };
    const answer = await server.call("POST", "/sandbox/deposits", asked, { key });
    expectRefusal(answer, "record_invalid");
    expect(answer.body.errors).toMatchObject([{ field: "deposit.bank_reference" }]);
    expect(JSON.stringify(answer.body)).not.toContain(onramp.id);
  });

  it("another account's key learns nothing of an unmatched deposit by its reference", async () => {
    const [first, second] = [await server.addAccount("First"), await server.addAccount("Second")];
    const deposit = { amount: 77, currency: "usd", bank_reference: "UNMATCHED-1" };
    const send = (key: string, deposit_message: string) =>
      server.call(
        "POST",
        "/sandbox/deposits",
        { deposit: { ...deposit, deposit_message } },
        { key },
      );
    const made = good(await send(first.key, "for nobody else")).deposit;
    expect(made.status).toBe("unmatched");
    const refused = await send(second.key, "a guess");
    expect(refused.status, refused.text).toBe(422);
    expect(refused.text).not.toContain("nobody");
    // Its own again is the same deposit, whatever it says.
    expect(good(await send(first.key, "again")).deposit).toMatchObject({ id: made.id });
  });

  it("another account's key sees no list and no deposit", async () => {
    const { key } = await server.addAccount("Invented Stranger");
    const deposit = await receive(server, { amount: 3, deposit_message: "hidden" });
    const list = await server.call("GET", "/deposits", undefined, { key });
    expect([list.status, list.body.error_code]).toEqual([403, "insufficient_scope"]);
    for (const action of ["match", "return", "accept_difference", "dismiss"]) {
      const path = `/deposits/${deposit.id}/${action}`;
      expectRefusal(await server.call("POST", path, undefined, { key }), "record_not_found");
    }
    expect((await showDeposit(server, deposit.id)).status).toBe("unmatched");
  });
});

describe("a bank other than the sandbox's", () => {
  let bank: ScriptedBank;
  let scripted: TestServer;
  beforeAll(async () => {
    bank = createScriptedBank();
    scripted = await startTestServer({
      partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
    });
  });
  afterAll(() => scripted.close());

  it("the same line reported 20 times at once to two processes is credited once", async () => {
    const second = await startTestServer({
      beside: scripted,
      partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
    });
    const onramp = await openOnramp(scripted);
    const line = credit(scripted, { text: onramp.code });
    for (let count = 0; count < 20; count += 1) bank.receive(line);
    const deps = (one: TestServer) => ({
      database: one.core.database,
      keyring: one.core.keyring,
      operator_id: one.core.first_start.operator.id,
      bank: bank.port,
    });
    const now = scripted.core.clock.now();
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        takeCredits(deps(at % 2 ? second : scripted), [line], now),
      ),
    );
    await settle(scripted);
    expect((await onramp.show()).status).toBe("crypto_sent");
    const { deposits } = good(await scripted.call("GET", "/deposits"));
    expect(deposits).toHaveLength(1);
    expect(await findFault(scripted)).toBeNull();
    await second.close();
  });

  it("the same reference on another day, or in another of our accounts, is another line", async () => {
    const line = credit(scripted, { text: "told apart" });
    const tomorrow = new Date(line.booked_at.getTime() + 24 * HOUR_MS);
    bank.receive(line);
    bank.receive({ ...line, booked_at: tomorrow });
    bank.receive({ ...line, bank_account: "main-eur" });
    await advance(scripted, 2_000);
    const { deposits } = good(await scripted.call("GET", "/deposits?status=unmatched"));
    const own = deposits.filter(
      (one: { bank_reference: string }) => one.bank_reference === line.bank_reference,
    );
    expect(own.map((one: { reason: string }) => one.reason).sort()).toEqual([
      "conflict",
      "no_code",
      "no_code",
    ]);
    expect(await findFault(scripted)).toBeNull();
  });

  it("over, held, refused by the bank, over again: every part stays in the list", async () => {
    const first = await openOnramp(scripted);
    const second = await openOnramp(scripted, { destination_amount: 500 });
    const kyc = (user_id: string, status: string) =>
      scripted.call("PATCH", `/sandbox/users/${user_id}/kycs`, { kyc: { status } });
    good(await kyc(first.user_id, "suspended"));
    const line = credit(scripted, { text: first.code, amount: 110_450n });
    bank.receive(line);
    await advance(scripted, 2_000);
    const listed = async () => {
      const { deposits } = good(await scripted.call("GET", "/deposits?limit=100"));
      return deposits.filter(
        (one: { bank_reference: string }) => one.bank_reference === line.bank_reference,
      );
    };
    const [{ id }] = await listed();
    good(await act(scripted, id, "accept_difference"));
    await settle(scripted);
    bank.return_answer = "refused";
    good(await act(scripted, id, "return"));
    await settle(scripted);
    expect(await showDeposit(scripted, id)).toMatchObject({ reason: "return_refused" });
    bank.return_answer = "booked";
    expect(await findFault(scripted)).toBeNull();
    good(await act(scripted, id, "accept_difference", { onramp_id: second.id }));
    await settle(scripted);
    expect((await second.show()).status).toBe("crypto_sent");
    expect((await first.show()).status).toBe("failed");
    const parts = (await listed()).map((one: { status: string; amount: number }) => [
      one.status,
      one.amount,
    ]);
    expect(parts.sort()).toEqual([
      ["matched", 1104.5],
      ["unmatched", 100.5],
      ["unmatched", 502],
    ]);
    expect(await findFault(scripted)).toBeNull();
  });

  it("a NUL in a bank's text does not block the lines after it", async () => {
    const onramp = await openOnramp(scripted);
    bank.receive(credit(scripted, { text: "bad\0text", payer_name: "Invented\0 \ud800" }));
    bank.receive(credit(scripted, { text: onramp.code }));
    await advance(scripted, 2_000);
    expect((await onramp.show()).status).toBe("crypto_sent");
  });

  it("a return that the bank has not booked waits; one that it refuses is listed again", async () => {
    bank.receive(credit(scripted, { text: "to be returned" }));
    await advance(scripted, 2_000);
    const { deposits } = good(await scripted.call("GET", "/deposits?status=unmatched"));
    const { id } = deposits.find((one: { text: string }) => one.text === "to be returned");
    bank.return_answer = "pending";
    good(await act(scripted, id, "return"));
    await advance(scripted, 3 * MINUTE_MS);
    expect((await showDeposit(scripted, id)).status).toBe("returning");
    expect(await findFault(scripted)).toBeNull();
    bank.return_answer = "refused";
    await advance(scripted, 2 * MINUTE_MS);
    expect(await showDeposit(scripted, id)).toMatchObject({
      status: "unmatched",
      reason: "return_refused",
    });
    bank.return_answer = "booked";
    good(await act(scripted, id, "return"));
    await settle(scripted);
    expect((await showDeposit(scripted, id)).status).toBe("returned");
    expect([...bank.returns.keys()].filter((key) => key.includes(id))).toEqual([
      `deposit:${id}:1`,
      `deposit:${id}:2`,
    ]);
    expect(await findFault(scripted)).toBeNull();
  });
});

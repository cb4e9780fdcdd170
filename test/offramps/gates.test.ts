import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createSandboxChain } from "../../src/partners/chain/sandbox.ts";
import { HOUR_MS } from "../../src/platform/durations.ts";
import { recordPriceVersion } from "../../src/prices/refresh-rates.ts";
import { findLastPriceVersion, lockPriceVersions } from "../../src/prices/store.ts";
import { UPLOAD, UPLOAD_TYPE } from "../harness/api-document.ts";
import { addApprovedUser, addPaymentDetail, addQuote, execute, setKyc } from "../harness/ramp.ts";
import { createScriptedBank, type ScriptedBank } from "../harness/scripted-bank.ts";
import { startTestServer, type TestServer } from "../harness/server.ts";
import { openSteps, PAYOUT_STEPS, type Steps } from "../harness/steps.ts";
import { findFault, good } from "./story.ts";

let server: TestServer;
let bank: ScriptedBank;
let steps: Steps;
beforeAll(async () => {
  bank = createScriptedBank();
  server = await startTestServer({
    environment: { SLIPROAD_DOCUMENTS: "never" },
    partners: (core) => ({ chain: createSandboxChain(core), bank: bank.port }),
  });
  // The test itself is the worker.
  await server.app.worker.stop();
  const { core } = server;
  steps = await openSteps(core, { chain: createSandboxChain(core), bank: bank.port });
});
afterAll(async () => {
  steps.close();
  await server.close();
});
beforeEach(() => {
  bank.onSubmit = async () => {};
});
afterEach(async () => expect(await findFault(server)).toBeNull());

type Payout = { user_id: string; payment_detail_id: string; quote_id: string; offramp_id: string };

async function addPayout(): Promise<Payout> {
  const user_id = await addApprovedUser(server);
  const payment_detail_id = await addPaymentDetail(server, user_id, "usd_swift");
  const quote_id = await addQuote(server, user_id);
  const path = `/users/${user_id}/quotes/${quote_id}/offramps`;
  const item = {
    payment_detail_id,
    destination_amount: 1000,
    destination_currency: "usd",
    supporting_document_attributes: { submitted_url: "https://files.test/invoice.pdf" },
  };
  const made = good(await server.call("POST", path, { offramps: [item] }));
  // Stores the copy of the document.
  await steps.runAll();
  return { user_id, payment_detail_id, quote_id, offramp_id: made.offramps[0].id };
}

async function statusOf({ user_id, offramp_id }: Payout): Promise<string> {
  const answer = await server.call("GET", `/users/${user_id}/offramps/${offramp_id}`);
  return good(answer).offramp.status;
}

const hasLeft = ({ offramp_id }: Payout) => bank.known.has(`${offramp_id.replaceAll("-", "")}001`);

const setDetail = ({ user_id, payment_detail_id }: Payout, status: string) =>
  server.call("PATCH", `/sandbox/users/${user_id}/payment_details/${payment_detail_id}`, {
    payment_detail: { status },
  });
const setKycStatus = ({ user_id }: Payout, status: string) => setKyc(server, user_id, { status });
const setSwift = ({ user_id }: Payout, swift_status: string) =>
  setKyc(server, user_id, { status: "approved", swift_status });
const review = ({ offramp_id }: Payout, status: string) =>
  server.call("PATCH", `/offramps/${offramp_id}/supporting-documents`, {
    supporting_document: { status },
  });

const uploadAnother = ({ offramp_id }: Payout) =>
  server.call("POST", `/offramps/${offramp_id}/supporting-documents`, undefined, {
    raw: UPLOAD,
    headers: { "content-type": UPLOAD_TYPE },
  });

const setFrozen = async ({ user_id }: Pick<Payout, "user_id">, action: "freeze" | "unfreeze") => {
  const reason = "Reported as stolen";
  good(await server.call("POST", `/users/${user_id}/${action}`, { reason }));
};

type Gate = {
  close(payout: Payout): Promise<unknown>;
  /** Absent where it stays closed for good. */
  open?: (payout: Payout) => Promise<unknown>;
  /** Whether it can still be closed after the instruction is recorded. */
  is_late: boolean;
  /** Why an execution is refused; null when it is not, because the offramp may wait. */
  refusal: string | null;
};

const GATES: Record<string, Gate> = {
  "KYC suspended": {
    close: (payout) => setKycStatus(payout, "suspended"),
    open: (payout) => setKycStatus(payout, "approved"),
    is_late: true,
    refusal: "not_yet_passed_kyc_kyb",
  },
  "user frozen": {
    close: (payout) => setFrozen(payout, "freeze"),
    open: (payout) => setFrozen(payout, "unfreeze"),
    is_late: true,
    refusal: "on_hold",
  },
  "swift clearance withdrawn": {
    close: (payout) => setSwift(payout, "suspended"),
    open: (payout) => setSwift(payout, "approved"),
    is_late: true,
    refusal: "not_approved_for_payout_rail",
  },
  "payment detail under review": {
    close: (payout) => setDetail(payout, "pending"),
    open: (payout) => setDetail(payout, "approved"),
    is_late: true,
    refusal: "payment_detail_not_approved",
  },
  "payment detail deactivated": {
    close: (payout) => setDetail(payout, "deactivated"),
    is_late: true,
    refusal: "payment_detail_deactivated",
  },
  "document rejected": {
    close: (payout) => review(payout, "rejected"),
    open: uploadAnother,
    is_late: false,
    refusal: null,
  },
};

/** Where the gate closes: after the execution and this many steps. */
const PLACES: [string, number][] = [
  ["after the execution", 0],
  ["after the deposit was credited", 1],
  ["after the quote was funded", 2],
  ["after the instruction was recorded", 3],
];
const RECORDED = 3;

/** For a test that does not concern this gate: left out, not skipped. */
const itNot = (_title: string, _test: () => Promise<void>) => {};

describe.each(Object.entries(GATES))("%s", (_, gate) => {
  it("closed before the execution: nothing is sent", async () => {
    const payout = await addPayout();
    await gate.close(payout);
    const executed = await execute(server, payout.user_id, payout.quote_id);
    if (gate.refusal) expect(executed.body.error_code).toBe(gate.refusal);
    await steps.runAll();
    expect(await statusOf(payout)).toBe(gate.refusal ? "initiated" : "ongoing_checks");
    expect(hasLeft(payout)).toBe(false);
    if (!gate.open) return;
    await gate.open(payout);
    if (gate.refusal) good(await execute(server, payout.user_id, payout.quote_id));
    await steps.runAll();
    expect(await statusOf(payout)).toBe("fiat_sent");
  });

  const places = PLACES.filter(([, step]) => gate.is_late || step < RECORDED);
  it.each(places)("closed %s: nothing is sent until it opens again", async (_place, step) => {
    const payout = await addPayout();
    good(await execute(server, payout.user_id, payout.quote_id));
    for (const kind of PAYOUT_STEPS.slice(0, step)) expect(await steps.run(kind)).toBe(true);
    await gate.close(payout);
    await steps.runAll();
    expect(await statusOf(payout)).toBe(step === RECORDED ? "bounced" : "ongoing_checks");
    expect(hasLeft(payout)).toBe(false);
    await server.core.clock.advance(HOUR_MS);
    await steps.runAll();
    expect(hasLeft(payout)).toBe(false);
    await (step === RECORDED ? leaveBounced(payout, gate) : leaveWaiting(payout, gate));
  });

  const ifLate = gate.is_late ? it : itNot;
  ifLate(
    "closed between the mark and the call to the bank: it is not sent again until it opens",
    async () => {
      const payout = await addPayout();
      good(await execute(server, payout.user_id, payout.quote_id));
      for (const kind of PAYOUT_STEPS.slice(0, RECORDED)) await steps.run(kind);
      bank.onSubmit = async () => {
        bank.onSubmit = async () => {};
        throw new Error("the process died");
      };
      await expect(steps.run("send-payout")).rejects.toThrow("the process died");
      await gate.close(payout);
      await steps.runAll();
      expect(await statusOf(payout)).toBe("sending_fiat");
      expect(hasLeft(payout)).toBe(false);
      if (!gate.open) return;
      await gate.open(payout);
      await server.core.clock.advance(HOUR_MS);
      await steps.runAll();
      expect(await statusOf(payout)).toBe("fiat_sent");
    },
  );

  const ifEarly = gate.is_late ? itNot : it;
  ifEarly("after the instruction was recorded: refused", async () => {
    const payout = await addPayout();
    good(await execute(server, payout.user_id, payout.quote_id));
    for (const kind of PAYOUT_STEPS.slice(0, RECORDED)) await steps.run(kind);
    const closed = (await gate.close(payout)) as { body: { error_code: string } };
    expect(closed.body.error_code).toBe("invalid_transition");
  });
});

/** Reopened, it continues automatically; closed for good, it is refunded. */
async function leaveWaiting(payout: Payout, gate: Gate): Promise<void> {
  if (gate.open) {
    await gate.open(payout);
    await server.core.clock.advance(HOUR_MS);
    await steps.runAll();
    expect(await statusOf(payout)).toBe("fiat_sent");
  } else {
    const path = `/users/${payout.user_id}/offramps/${payout.offramp_id}/refund`;
    good(await server.call("POST", path));
    expect(await statusOf(payout)).toBe("failed");
    expect(hasLeft(payout)).toBe(false);
  }
}

/** A re-route is refused while the gate is closed, and sends it once it is open. */
async function leaveBounced(payout: Payout, gate: Gate): Promise<void> {
  const reroute = (payment_detail_id: string) =>
    server.call("POST", `/users/${payout.user_id}/offramps/${payout.offramp_id}/reroute`, {
      offramp: { payment_detail_id },
    });
  expect((await reroute(payout.payment_detail_id)).status).toBe(422);
  expect(await statusOf(payout)).toBe("bounced");
  if (gate.open) await gate.open(payout);
  const detail_id = gate.open
    ? payout.payment_detail_id
    : await addPaymentDetail(server, payout.user_id, "usd_swift");
  good(await reroute(detail_id));
  await steps.runAll();
  expect(await statusOf(payout)).toBe("fiat_sent");
  expect(hasLeft(payout)).toBe(false);
}

/** Stores other rates, as a refresh would. */
function setRate(eur: string): Promise<void> {
  return server.core.database.transaction(async (tx) => {
    await lockPriceVersions(tx);
    const last = (await findLastPriceVersion(tx))!;
    const rates = { ...last.rates, usdc: { ...last.rates.usdc, eur } };
    recordPriceVersion(tx, last, { ...last, rates }, server.core.clock.now());
  });
}

it("a payout whose payee was deactivated before it left keeps no rate for 72 hours", async () => {
  const { user_id } = await addPayout();
  const path = `/users/${user_id}`;
  const [gone, next] = [
    await addPaymentDetail(server, user_id, "eur"),
    await addPaymentDetail(server, user_id, "eur"),
  ];
  const quote_id = await addQuote(server, user_id);
  const item = { payment_detail_id: gone, destination_amount: 200, destination_currency: "eur" };
  const made = good(
    await server.call("POST", `${path}/quotes/${quote_id}/offramps`, { offramps: [item, item] }),
  );
  const [first, second] = made.offramps.map((offramp: { id: string }) => offramp.id);
  good(await execute(server, user_id, quote_id));
  for (const kind of PAYOUT_STEPS.slice(0, RECORDED)) await steps.run(kind);
  good(await server.call("PATCH", `${path}/payment_details/${gone}/deactivate`));
  await steps.runAll();
  const reroute = (id: string) => {
    const offramp = { payment_detail_id: next };
    return server.call("POST", `${path}/offramps/${id}/reroute`, { offramp });
  };
  await server.core.clock.advance(24 * HOUR_MS);
  // The quote's rate is 0.86, of which 0.5 % are 0.0043.
  for (const [id, rate, status] of [
    [first, "0.8556", "bounced"],
    [first, "0.8557", "fiat_sent"],
    [second, "0.83", "bounced"],
  ]) {
    await setRate(rate!);
    const answer = await reroute(id!);
    await steps.runAll();
    const payout = { user_id, payment_detail_id: next, quote_id, offramp_id: id! };
    expect(await statusOf(payout), answer.text).toBe(status);
  }
  await setRate("0.86");
});

/** A refund of 40 to the sender that was requested, and not sent yet. */
async function openRefund() {
  const { user_id, quote_id } = await addPayout();
  const path = `/users/${user_id}`;
  const crypto_deposit = { quote_id, amount: 40 };
  good(await server.call("POST", "/sandbox/crypto_deposits", { crypto_deposit }));
  await server.core.clock.advance(2_000);
  await steps.runAll();
  const { crypto_deposits } = good(await server.call("GET", `${path}/crypto_deposits`));
  const refund = { token: "usdc", chain: "polygon", amount: 40, address: crypto_deposits[0].from };
  const { id } = good(await server.call("POST", `${path}/refunds`, { refund })).refund;
  const look = async () => good(await server.call("GET", `${path}/refunds`)).refunds[0];
  const countSent = async () =>
    (await server.db.database.query("select from sandbox_sends where key like $1", [`%${id}`]))
      .length;
  return { user_id, id, look, countSent };
}

it("a refund requested before the user was suspended is owed again, not sent", async () => {
  const { user_id, look, countSent } = await openRefund();
  await setFrozen({ user_id }, "freeze");
  await steps.runAll();
  await setKyc(server, user_id, { status: "suspended" });
  await setFrozen({ user_id }, "unfreeze");
  await server.core.clock.advance(HOUR_MS);
  await steps.runAll();
  expect(await look()).toMatchObject({ status: "failed", tx_id: null });
  expect(await countSent()).toBe(0);
  const { balances } = good(await server.call("GET", `/users/${user_id}/balances`));
  expect(balances).toMatchObject([{ amount: 40 }]);
});

it("a pending refund of a frozen user waits, and is sent once the user is unfrozen", async () => {
  const { user_id, id, look, countSent } = await openRefund();
  await setFrozen({ user_id }, "freeze");
  await steps.runAll();
  await server.core.clock.advance(3 * HOUR_MS);
  await steps.runAll();
  expect(await look()).toMatchObject({ id, status: "pending", tx_id: null });
  expect(await countSent()).toBe(0);
  await setFrozen({ user_id }, "unfreeze");
  await server.core.clock.advance(HOUR_MS);
  await steps.runAll();
  expect((await look()).status).toBe("sent");
  expect(await countSent()).toBe(1);
});

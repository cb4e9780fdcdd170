import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./creation-scenarios.ts";
import type { Scenario } from "./measure.ts";
import {
  type Account,
  addPayers,
  addTargets,
  creation,
  type Payer,
  post,
  type Target,
} from "./payers.ts";

/** The most that one request may create. */
const SET = 500;
const PAID_MAX_MS = 300_000;
const ASK_MIN_MS = 10;
const ASK_SHARE = 0.01;

export type PayKind = {
  accounts: number;
  /** Of each account, in one quote. */
  payouts: number;
  has_documents: boolean;
  bar?: { at_least: number };
};

const ONE_QUOTE: PayKind = {
  accounts: 1,
  payouts: 5_000,
  has_documents: false,
  bar: { at_least: 0.35 },
};
const WITH_DOCUMENTS: PayKind = {
  accounts: 1,
  payouts: 2_000,
  has_documents: true,
  bar: { at_least: 0.25 },
};
const MANY_ACCOUNTS: PayKind = {
  accounts: 16,
  payouts: SET,
  has_documents: false,
  bar: { at_least: 0.35 },
};

/** From execute to the last `fiat_sent`, compared to the creation of the same payouts. */
export async function payouts(bench: Bench): Promise<Scenario> {
  const pairs = [
    await pairOf(bench, "5 000 of one quote", ONE_QUOTE),
    await pairOf(bench, "2 000 with documents", WITH_DOCUMENTS),
    await pairOf(bench, "16 accounts with 500", MANY_ACCOUNTS),
  ];
  return {
    name: "payouts",
    contenders: pairs.flatMap(({ created, paid }) => [created, paid]),
    ratios: pairs.map(({ created, paid, name, bar }) => ({
      name: `payouts, ${name}: paid / created`,
      top: paid.name,
      bottom: created.name,
      ...(bar ? { bar } : {}),
    })),
  };
}

/** The two contenders run in turn: the second pays what the first has created. */
async function pairOf(bench: Bench, name: string, kind: PayKind) {
  const { stage, accounts } = bench;
  const payers = await preparePayers(bench, accounts.slice(0, kind.accounts), kind);
  const count = kind.accounts * kind.payouts;
  const perSecond = (begun_ms: number) => (count / (performance.now() - begun_ms)) * 1_000;
  let targets: Target[] = [];
  const create = async () => {
    targets = await addTargets(stage.service.url, payers);
    const begun_ms = performance.now();
    await Promise.all(targets.map((target) => createAll(bench, target, kind)));
    return { value: perSecond(begun_ms) };
  };
  const pay = async () => {
    const begun_ms = performance.now();
    await Promise.all(targets.map((target) => execute(bench, target)));
    await untilPaid(bench, targets);
    return { value: perSecond(begun_ms) };
  };
  return {
    name,
    bar: kind.bar,
    created: { name: `${name}, created`, unit: "per second" as const, run: create },
    paid: { name: `${name}, paid`, unit: "per second" as const, run: pay },
  };
}

/** A user of each account who may be paid for. */
export async function preparePayers(
  { stage }: Bench,
  accounts: Account[],
  kind: PayKind,
): Promise<Payer[]> {
  const payers = await addPayers(stage.service.url, accounts, kind.accounts);
  for (const payer of payers) {
    const path = `/sandbox/users/${payer.user_id}/kycs`;
    await post(stage.service.url, payer, path, { kyc: { status: "approved" } }, "PATCH");
  }
  return payers;
}

/** Without measuring how long it takes. */
export async function createAndPay(
  bench: Bench,
  payers: readonly Payer[],
  kind: PayKind,
): Promise<void> {
  const targets = await addTargets(bench.stage.service.url, payers);
  await Promise.all(targets.map((target) => createAll(bench, target, kind)));
  await Promise.all(targets.map((target) => execute(bench, target)));
  await untilPaid(bench, targets);
}

/** One request after the other: all write to the same quote. */
async function createAll({ stage }: Bench, target: Target, kind: PayKind): Promise<void> {
  const { path, body } = creation(target, SET);
  const { offramps } = JSON.parse(body!) as { offramps: object[] };
  const items = kind.has_documents ? offramps.map(withDocument) : offramps;
  for (let left = kind.payouts; left > 0; left -= SET) {
    await post(stage.service.url, target, path, { offramps: items.slice(0, left) });
  }
}

/** Of an amount that is not paid before its document is stored. */
function withDocument(offramp: object): object {
  const submitted_url = "https://files.test/invoice.pdf";
  return {
    ...offramp,
    destination_amount: "16000.00",
    supporting_document_attributes: { submitted_url },
  };
}

function execute({ stage }: Bench, target: Target): Promise<unknown> {
  const tx_id = `0x${randomBytes(32).toString("hex")}`;
  const path = `/users/${target.user_id}/quotes/${target.quote_id}/execute`;
  return post(stage.service.url, target, path, {
    quote: { crypto_transfer: { tx_id, blockchain: "polygon", network: "amoy" } },
  });
}

/** Seldom, in a long run: counting takes time from what is measured. */
async function untilPaid({ stage }: Bench, targets: readonly Target[]): Promise<void> {
  const begun_ms = performance.now();
  const columns = [
    targets.map((target) => target.account_id),
    targets.map((target) => target.quote_id),
  ];
  for (;;) {
    const rows = await stage.core.database.query(
      `select from unnest($1::uuid[], $2::uuid[]) as t (account_id, quote_id)
       cross join lateral (select from offramps o where o.account_id = t.account_id
         and o.quote_id = t.quote_id and o.status <> 'fiat_sent' order by o.id desc limit 1)
       limit 1`,
      columns,
    );
    if (rows.length === 0) return;
    const took_ms = performance.now() - begun_ms;
    if (took_ms > PAID_MAX_MS) throw new Error("some payouts were not paid in time");
    await sleep(Math.max(ASK_MIN_MS, took_ms * ASK_SHARE));
  }
}

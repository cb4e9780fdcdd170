import { createMember } from "../src/accounts/create-member.ts";
import { findSession, startSession } from "../src/accounts/sign-in/sessions.ts";
import { cookieName } from "../src/platform/pages/cookies.ts";
import type { Bench } from "./creation-scenarios.ts";
import { type FilledAccount, fillAccount, RARE_AMOUNT, RARE_REFERENCE } from "./dashboard-rows.ts";
import type { Contender, Scenario } from "./measure.ts";

const FEW = 1_000;
const MANY = 1_000_000;
const RATIO_MAX = 1.2;
const REQUESTS = 25;
/** Single requests vary on a busy machine. */
const SAMPLES_TIMES = 3;
const PAGE = 25;
const LIST = `/dashboard/api/payouts?limit=${PAGE}`;

type Request = { path: string; body?: unknown; rows_min: number };
type Visitor = { account: FilledAccount; headers: Record<string, string> };

/** What a member opens; each of the pages with a filter is full at both sizes. */
const REQUESTS_OF: Readonly<Record<string, (account: FilledAccount) => Request>> = {
  "first page": () => ({ path: LIST, rows_min: PAGE }),
  "middle page": ({ middle_id }) => ({
    path: `${LIST}&starting_after=${middle_id}`,
    rows_min: PAGE,
  }),
  "by a rare status": () => ({ path: `${LIST}&status=bounced`, rows_min: PAGE }),
  "by a frequent status": () => ({ path: `${LIST}&status=fiat_sent`, rows_min: PAGE }),
  "by a rare currency": () => ({ path: `${LIST}&currency=mad`, rows_min: PAGE }),
  "by a frequent currency": () => ({ path: `${LIST}&currency=eur`, rows_min: PAGE }),
  "by a rare rail": () => ({ path: `${LIST}&rails=wire`, rows_min: PAGE }),
  "by rail, currency and status": () => ({
    path: `${LIST}&rails=local&currency=mad&status=bounced`,
    rows_min: PAGE,
  }),
  "by payer": ({ rare_user_id }) => ({ path: `${LIST}&user_id=${rare_user_id}`, rows_min: PAGE }),
  "by bank account": ({ rare_payment_detail_id: id }) => ({
    path: `${LIST}&payment_detail_id=${id}`,
    rows_min: PAGE,
  }),
  "by day": ({ middle_id }) => ({
    path: `${LIST}&created_before=${timeOf(middle_id)}`,
    rows_min: PAGE,
  }),
  "by amount": () => ({
    path: `${LIST}&currency=eur&amount_min=${RARE_AMOUNT}&amount_max=${RARE_AMOUNT}`,
    rows_min: 0,
  }),
  "by why it is held": () => ({ path: `${LIST}&held_by=deposit`, rows_min: PAGE }),
  "search by reference": () => search(RARE_REFERENCE),
  "search by account number": () => search("DE89 3704 0044 0532 0130 00"),
  names: ({ user_id, rare_user_id, rare_payment_detail_id }) => ({
    path:
      `/dashboard/api/names?users=${user_id},${rare_user_id}` +
      `&payment_details=${rare_payment_detail_id}`,
    rows_min: 0,
  }),
};

function search(text: string): Request {
  return { path: "/dashboard/api/search", body: { text }, rows_min: 0 };
}

/** The dashboard's lists over a thousand payouts, compared to a million. */
export async function dashboardLists(bench: Bench): Promise<Scenario> {
  const { stage, accounts } = bench;
  const few = await visit(bench, await fillAccount(bench, accounts[1]!, FEW));
  const many = await visit(bench, await fillAccount(bench, accounts[2]!, MANY));
  await stage.core.database.connection((session) => session.query("vacuum analyze offramps"));
  const pairs = Object.entries(REQUESTS_OF).map(([name, requestOf]) => ({
    name,
    few: contender(bench, name, few, requestOf),
    many: contender(bench, name, many, requestOf),
  }));
  return {
    name: "dashboard-lists",
    times: SAMPLES_TIMES,
    contenders: pairs.flatMap((pair) => [pair.few, pair.many]),
    ratios: pairs.map((pair) => ({
      name: `dashboard, ${pair.name}: at ${MANY} / at ${FEW}`,
      top: pair.many.name,
      bottom: pair.few.name,
      bar: { at_most: RATIO_MAX },
    })),
  };
}

/** A member of the account who is signed in. */
async function visit({ stage }: Bench, account: FilledAccount): Promise<Visitor> {
  const { database, index_key, clock, config } = stage.core;
  const { account_id } = account;
  const now = clock.now();
  const email = `bench-${account_id}@example.com`;
  const by = { actor: "command line", reason: "benchmark" } as const;
  const { person_id } = await database.transaction((tx) =>
    createMember(
      tx,
      index_key,
      { account_id, email, role: "accountant", password_hash: "none", ...by },
      now,
    ),
  );
  const token = await database.transaction(async (tx) =>
    startSession(tx, index_key, { account_id, person_id }, new Date()),
  );
  const session = await findSession({ database, index_key, config }, token, new Date());
  const headers = {
    cookie: `${cookieName(stage.service.url, "session")}=${token}`,
    "x-csrf-token": session!.csrf,
    "content-type": "application/json",
  };
  return { account, headers };
}

function contender(
  { stage }: Bench,
  name: string,
  { account, headers }: Visitor,
  requestOf: (account: FilledAccount) => Request,
): Contender {
  const { path, body, rows_min } = requestOf(account);
  const send = async () => {
    const sent = { headers, ...(body ? { method: "POST", body: JSON.stringify(body) } : {}) };
    const answer = await fetch(`${stage.service.url}${path}`, sent);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${text}`);
    return text;
  };
  return {
    name: `${name} of ${account.rows}`,
    unit: "ms a request",
    run: async () => {
      const rows = JSON.parse(await send()).offramps?.length ?? 0;
      if (rows < rows_min) throw new Error(`${path}: ${rows} rows of ${account.rows}`);
      const took: number[] = [];
      for (let request = 0; request < REQUESTS; request += 1) {
        const before = performance.now();
        await send();
        took.push(performance.now() - before);
      }
      return { value: took.toSorted((a, b) => a - b)[Math.floor(REQUESTS / 2)]! };
    },
  };
}

/** Ids begin with their time in milliseconds. */
function timeOf(id: string): string {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)).toISOString();
}

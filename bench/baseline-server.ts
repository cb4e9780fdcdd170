import pg from "pg";
import { createAuthenticate } from "../src/accounts/authenticate.ts";
import { openCore, openSender } from "../src/app/open-app.ts";
import { openTokens } from "../src/apps/oauth/token-callers.ts";
import { loadFees } from "../src/catalogue/fee-table.ts";
import { loadMarketRisk } from "../src/catalogue/market-risk.ts";
import { checkItems } from "../src/offramps/check-items.ts";
import { createOfframps, type NewOfframps } from "../src/offramps/create-offramps.ts";
import type { Quote } from "../src/offramps/quotes/model.ts";
import { createOfframpRenderer } from "../src/offramps/render.ts";
import { CreateOfframpsBody, OfframpsAnswer } from "../src/offramps/schemas.ts";
import { openRateSource } from "../src/partners/rates/open-rate-source.ts";
import { toPaymentDetails } from "../src/payment-details/store.ts";
import { AccountMap } from "../src/platform/account-map.ts";
import { PUT_OFF } from "../src/platform/commands/batcher.ts";
import { ByteBudget } from "../src/platform/commands/byte-budget.ts";
import type { Answer, CommandRequest } from "../src/platform/commands/executor.ts";
import { replayAnswers } from "../src/platform/commands/replay.ts";
import type { Command } from "../src/platform/commands/use-case.ts";
import { readConfig } from "../src/platform/config/config.ts";
import type { Transaction } from "../src/platform/db/database.ts";
import { Refusal } from "../src/platform/errors.ts";
import { addRoute } from "../src/platform/http/route.ts";
import { createServer } from "../src/platform/http/server.ts";
import { newId } from "../src/platform/ids.ts";
import { openPriceBook } from "../src/prices/price-book.ts";
import { BATCH_BYTES_MAX, INT8_AS_BIGINT, recordCreated } from "./baseline-rows.ts";

/**
 * The baseline: the handler that one would write without batching. The same checks, decision,
 * encryption, rendering and rows as the service, but each request has its own transaction, and its
 * statements run one after another.
 */
const config = readConfig(process.env);
const core = await openCore(config, config.database_url!);
const { keyring, index_key, clock, catalogue } = core;
const public_url = `http://${config.host}:${config.port}`;
const server = createServer({
  ...config,
  public_url: () => public_url,
  authenticate: createAuthenticate(core, config.mode, openTokens(core)),
});
const renderer = createOfframpRenderer(() => public_url, clock);
const prices = await openPriceBook(
  {
    database: core.database,
    catalogue,
    source: openRateSource(config),
    token_source: null,
    fees: loadFees(),
    risk: loadMarketRisk(),
    log: server.log,
  },
  clock.now(),
);
const approvals = { cooling_off_ms: 0 };
const use_case = createOfframps({
  catalogue,
  keyring,
  index_key,
  price_versions: prices,
  renderer,
  approvals,
});
const rules = { mode: config.mode, refuseUrl: openSender(config).refuse };
const pool = new pg.Pool({
  connectionString: config.database_url,
  max: config.database_connections,
  types: INT8_AS_BIGINT,
});

addRoute(server, index_key, {
  method: "POST",
  path: "/users/:user_id/quotes/:quote_id/offramps",
  operation: "createOfframps",
  summary: "Add offramps to a quote, one transaction per request",
  description: "Only for the benchmark.",
  tag: "Baseline",
  body: CreateOfframpsBody,
  body_bytes_max: BATCH_BYTES_MAX,
  answer: OfframpsAnswer,
  errors: [],
  handle: ({ params, body, problems, command }) => {
    const checked = checkItems(body?.offramps, rules, problems);
    return create(
      command({
        user_id: params.user_id!,
        quote_id: params.quote_id!,
        items: checked.items,
        problems: [...problems, ...checked.problems],
      }),
    );
  },
});
server.get("/healthz", async () => "ok");
await server.listen({ host: config.host, port: config.port });
process.once("SIGTERM", () => process.exit(0));

async function create(request: CommandRequest<NewOfframps>): Promise<Answer> {
  const now = clock.now();
  const command = { ...request, id: newId(now) };
  const client = await pool.connect();
  try {
    await client.query("begin");
    const answer = await createInTransaction(client, command, now);
    await client.query("commit");
    return answer;
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

async function createInTransaction(
  client: pg.PoolClient,
  command: Command<NewOfframps>,
  now: Date,
): Promise<Answer> {
  const { account_id, input, idempotency } = command;
  const key = await client.query(
    "select id from api_keys where account_id = $1 and id = $2 and revoked_at is null",
    [account_id, command.credential_id],
  );
  if (key.rows.length === 0) throw new Refusal("unauthorized");
  if (idempotency) {
    const replayed = await findReplay(client, command, idempotency.index);
    if (replayed) return replayed;
  }
  const verdict = use_case.decide(await load(client, command), command, now);
  if ("refusal" in verdict) throw verdict.refusal;
  const body = use_case.render(verdict.output);
  await recordCreated(client, {
    command,
    body,
    ...verdict.output,
    renderer,
    macs: core.database,
    now,
  });
  await client.query(
    `update quotes set token_amount = token_amount + $3, token_fees = token_fees + $4,
       offramp_count = offramp_count + $5, updated_at = $6
     where account_id = $1 and id = $2`,
    [
      account_id,
      input.quote_id,
      verdict.output.offramps.reduce((sum, offramp) => sum + offramp.token_amount, 0n),
      verdict.output.offramps.reduce((sum, offramp) => sum + offramp.token_fee, 0n),
      verdict.output.offramps.length,
      now,
    ],
  );
  return { body, replayed: false };
}

async function findReplay(
  client: pg.PoolClient,
  command: Command<NewOfframps>,
  index: Buffer,
): Promise<Answer | undefined> {
  const { account_id, id } = command;
  const { rows } = await client.query(
    `select account_id, id, request_hash, subject_id, octet_length(answer) as answer_bytes
     from commands where account_id = $1 and idempotency_index = $2`,
    [account_id, index],
  );
  if (rows.length === 0) return undefined;
  const session = sessionOf(client);
  const stored = new Map([[id, rows[0]]]);
  const budget = new ByteBudget();
  const outcomes = await replayAnswers(keyring, session, [command], stored, budget);
  const outcome = outcomes.get(id)!;
  if (outcome === PUT_OFF) throw new Error("the only command of a set is never put off");
  if ("refusal" in outcome) throw outcome.refusal;
  return outcome.answer;
}

async function load(client: pg.PoolClient, { account_id, input }: Command<NewOfframps>) {
  const session = sessionOf(client);
  const { rows: quotes } = await client.query<Quote>(
    "select * from quotes where account_id = $1 and id = $2 for no key update",
    [account_id, input.quote_id],
  );
  const subject = { account_id, subject_id: input.user_id };
  const keys = await keyring.openSubjects(session, [subject]);
  const detail_ids = new Set(input.items.flatMap((item) => item.payment_detail_id ?? []));
  const { rows: details } = await client.query(
    `select account_id, id, user_id, status, details, created_at, updated_at
     from payment_details where account_id = $1 and id = any($2::uuid[])`,
    [account_id, [...detail_ids]],
  );
  const version_ids = quotes.map((quote) => quote.price_version_id);
  return {
    quotes: AccountMap.of(quotes, (quote) => quote),
    details: AccountMap.of(toPaymentDetails(details, keys), (detail) => detail),
    invoices: new AccountMap<never>(),
    named: new AccountMap<never>(),
    documents: new AccountMap<never>(),
    prices: await prices.find(session, version_ids),
    keys,
  };
}

function refuseWrite(): never {
  throw new Error("the baseline awaits its writes");
}

function sessionOf(client: pg.PoolClient): Transaction {
  return {
    query: async (text, values) => (await client.query(text, values as unknown[])).rows,
    write: refuseWrite,
    writeAfter: refuseWrite,
  };
}

import { recordAudit } from "../accounts/audit.ts";
import { actorOf } from "../accounts/model.ts";
import { releasePayments } from "../invoices/payments/payments.ts";
import { AccountMap } from "../platform/account-map.ts";
import type { Command, UseCase, Verdict } from "../platform/commands/use-case.ts";
import type { Transaction } from "../platform/db/database.ts";
import type { Keyring } from "../platform/encryption/keyring.ts";
import { notFound, type Problem, Refusal } from "../platform/errors.ts";
import { enqueueTasks } from "../platform/tasks/tasks.ts";
import { dropLater } from "./documents/upload-documents.ts";
import type { Offramp } from "./model.ts";
import { additionProblems, type Quote } from "./quotes/model.ts";
import { lockQuoteRows, updateTotals } from "./quotes/store.ts";
import { deleteOfframps } from "./removed-offramp-store.ts";
import type { OfframpRenderer } from "./render.ts";
import { type KeyedOfframp, lockOfframps, openOfframps } from "./store.ts";
import { SWEEP_DOCUMENTS_TASK } from "./task-kinds.ts";

type Removal = {
  user_id: string;
  quote_id: string;
  offramp_id: string;
  reason: string;
  problems: readonly Problem[];
};

type Loaded = { quotes: AccountMap<Quote>; offramps: AccountMap<KeyedOfframp> };
type Removed = { offramp: Offramp; quote: Quote };

/** Removes offramps from quotes that are not executed; no money has moved for them yet. */
export function removeOfframps(
  keyring: Keyring,
  renderer: OfframpRenderer,
): UseCase<Removal, Loaded, Removed> {
  return {
    name: "remove-offramps",
    rows: () => 3,
    load: (tx, commands) => load(keyring, tx, commands),
    decide: decideOne,
    record: (tx, loaded, accepted, now) => {
      const removed = accepted.map(({ output }) => output.offramp);
      const quotes = new Map(
        removed.map(({ account_id, quote_id }) => [
          quote_id,
          loaded.quotes.get(account_id, quote_id)!,
        ]),
      );
      deleteOfframps(tx, removed, now);
      updateTotals(tx, [...quotes.values()]);
      releasePayments(
        tx,
        removed
          .filter(({ invoice_id }) => invoice_id !== null)
          .map(({ account_id, invoice_id, id }) => ({
            account_id,
            id: invoice_id!,
            offramp_id: id,
          })),
      );
      // The files of its document are deleted too.
      enqueueTasks(tx, SWEEP_DOCUMENTS_TASK, removed, now);
      dropLater(
        tx,
        removed.flatMap(({ account_id, document_id }) =>
          document_id ? [{ account_id, id: document_id }] : [],
        ),
        now,
      );
      for (const { command, output } of accepted) {
        const { account_id, id, quote_id } = output.offramp;
        const actor = actorOf(command);
        const act = {
          account_id,
          actor,
          action: "offramp.remove" as const,
          record: `offramp:${id}`,
        };
        const { reason } = command.input;
        recordAudit(tx, { ...act, reason, detail: { quote_id } }, now);
      }
    },
    render: ({ offramp }) => renderer.offramp(offramp),
  };
}

/** Quotes before offramps: the lock order used everywhere. */
async function load(
  keyring: Keyring,
  tx: Transaction,
  commands: readonly Command<Removal>[],
): Promise<Loaded> {
  const quotes = await lockQuoteRows(
    tx,
    commands.map(({ account_id, input }) => ({ account_id, id: input.quote_id })),
  );
  const rows = await lockOfframps(
    tx,
    commands.map(({ account_id, input }) => ({ account_id, id: input.offramp_id })),
  );
  return {
    quotes: AccountMap.of(quotes, (quote) => quote),
    offramps: AccountMap.of(await openOfframps(tx, keyring, rows), ({ offramp }) => offramp),
  };
}

function decideOne(
  { quotes, offramps }: Loaded,
  { account_id, input }: Command<Removal>,
  now: Date,
): Verdict<Removed> {
  const quote = quotes.get(account_id, input.quote_id);
  const entry = offramps.get(account_id, input.offramp_id);
  if (quote?.user_id !== input.user_id || entry?.offramp.quote_id !== quote.id) {
    return { refusal: Refusal.of([...input.problems, notFound("offramp_id")]) };
  }
  const problems = [...input.problems, ...additionProblems(quote, now)];
  if (problems.length > 0) return { refusal: Refusal.of(problems) };
  const { offramp, key } = entry;
  const changed: Quote = {
    ...quote,
    token_amount: quote.token_amount - offramp.token_amount,
    token_fees: quote.token_fees - offramp.token_fee,
    offramp_count: quote.offramp_count - 1,
    updated_at: now,
  };
  // A later command of the same set must see both.
  quotes.set(account_id, quote.id, changed);
  offramps.delete(account_id, offramp.id);
  return {
    output: { offramp, quote: changed },
    subject: { subject_id: offramp.user_id, key },
  };
}

import { recordAudits } from "../../accounts/audit.ts";
import { actorOf } from "../../accounts/model.ts";
import type { Quote } from "../../offramps/quotes/model.ts";
import { findQuotes } from "../../offramps/quotes/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import { type Command, SET_ROWS_MAX, type UseCase } from "../../platform/commands/use-case.ts";
import type { RecordKey } from "../../platform/db/rows.ts";
import type { Keyring, SubjectKeys } from "../../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import { findKycs } from "../../users/kyc-store.ts";
import type { Kyc } from "../../users/model.ts";
import { usersOf } from "../../users/store.ts";
import { BATCH_LIFE_MS, type Batch } from "./model.ts";
import {
  type BatchRecord,
  deleteBatch,
  insertBatch,
  listStarted,
  lockBatches,
  lockFiles,
  toBatch,
  updateBatch,
} from "./store.ts";

type NewBatch = Pick<
  Batch,
  "user_id" | "deposit_token" | "deposit_token_chain" | "content" | "file_index"
>;
type Created = { batch: Batch; key: Buffer };

export function createBatches(
  keyring: Keyring,
): UseCase<NewBatch, { kycs: AccountMap<Kyc>; keys: SubjectKeys }, Created> {
  return {
    name: "create-payout-batches",
    rows: () => 1,
    load: async (tx, commands) => {
      const users = usersOf(commands);
      const [kycs, keys] = await Promise.all([
        findKycs(tx, users),
        keyring.openUserKeys(tx, users),
      ]);
      return { kycs, keys };
    },
    decide: ({ kycs, keys }, command, now) => {
      const { account_id, input } = command;
      const key = keys.get(account_id, input.user_id);
      if (!key || !kycs.has(account_id, input.user_id)) {
        return { refusal: Refusal.of([notFound("batch.user_id")]) };
      }
      const batch: Batch = {
        account_id,
        id: newId(now),
        ...input,
        status: "draft",
        quote_id: null,
        attempt: 0,
        version: 0,
        created_by: actorOf(command),
        created_at: now,
        updated_at: now,
        expires_at: new Date(now.getTime() + BATCH_LIFE_MS),
      };
      return { output: { batch, key }, subject: null };
    },
    record: (tx, _loaded, accepted, now) => {
      for (const { output } of accepted) insertBatch(tx, output.batch, output.key);
      const acts = accepted.map((one) => auditOf(one.command, one.output.batch, "upload"));
      recordAudits(tx, acts, now);
    },
    render: ({ batch }) => JSON.stringify({ id: batch.id }),
  };
}

type BatchChange = {
  batch_id: string;
  /** The batch as it will be, or null to delete it; throws a refusal. */
  change: (batch: Batch, quote: Quote | undefined, now: Date) => Batch | null;
  /** For the audit log; null for what is no decision of a person. */
  action: Exclude<BatchAction, "upload"> | null;
};
type BatchAction = "upload" | "change" | "create" | "delete";
type LoadedBatches = {
  records: AccountMap<BatchRecord>;
  quotes: AccountMap<Quote>;
  keys: SubjectKeys;
  /** As earlier commands of the set leave them; null for a deleted one. */
  after: AccountMap<Batch | null>;
  /** Whose payouts are created, by their file: of the files of batches that are to begin. */
  started: AccountMap<Set<string>>;
};
type Changed = { before: Batch; after: Batch | null; key: Buffer };

export function changeBatches(keyring: Keyring): UseCase<BatchChange, LoadedBatches, Changed> {
  return {
    name: "change-payout-batches",
    // Each is a set of its own: it opens, seals and writes a whole batch.
    rows: () => SET_ROWS_MAX,
    load: async (tx, commands) => {
      const begun = commands.filter(({ input }) => input.action === "create").map(keyOf);
      if (begun.length > 0) await lockFiles(tx, begun);
      const records = await lockBatches(tx, commands.map(keyOf));
      const quote_keys = records.flatMap(({ account_id, quote_id }) =>
        quote_id ? [{ account_id, id: quote_id }] : [],
      );
      const [keys, quotes, started] = await Promise.all([
        keyring.openUserKeys(tx, records),
        findQuotes(tx, quote_keys),
        listStarted(tx, begun),
      ]);
      return {
        records: AccountMap.of(records, (record) => record),
        quotes: AccountMap.of(quotes, (quote) => quote),
        keys,
        after: new AccountMap(),
        started: byFile(started),
      };
    },
    decide: (loaded, command, now) => {
      try {
        return { output: changed(loaded, command, now), subject: null };
      } catch (error) {
        if (error instanceof Refusal) return { refusal: error };
        throw error;
      }
    },
    record: (tx, _loaded, accepted, now) => {
      for (const { output } of accepted) {
        if (output.after) updateBatch(tx, output.after, output.key);
        else deleteBatch(tx, output.before);
      }
      const acts = accepted.flatMap(({ command, output }) =>
        command.input.action ? [auditOf(command, output.before, command.input.action)] : [],
      );
      recordAudits(tx, acts, now);
    },
    render: () => "{}",
  };
}

function keyOf({ account_id, input }: Command<BatchChange>): RecordKey {
  return { account_id, id: input.batch_id };
}

function byFile(batches: Awaited<ReturnType<typeof listStarted>>): AccountMap<Set<string>> {
  const started = new AccountMap<Set<string>>();
  for (const batch of batches) noteStarted(started, batch);
  return started;
}

function noteStarted(
  started: AccountMap<Set<string>>,
  { account_id, id, file_index }: Pick<Batch, "account_id" | "id" | "file_index">,
): void {
  const file = file_index.toString("hex");
  started.set(account_id, file, new Set(started.get(account_id, file)).add(id));
}

/** Somebody else may have begun with the same file after this batch was checked. */
function begin(started: AccountMap<Set<string>>, batch: Batch): void {
  const { account_id, id, file_index, content } = batch;
  const same = started.get(account_id, file_index.toString("hex")) ?? new Set();
  const others = [...same].filter((one) => one !== id);
  if (others.length > 0 && !content.is_file_acknowledged) {
    const message = "Payouts of the same file are being created. Check the batch again.";
    throw Refusal.of([{ field: "digest", code: "invalid_transition", message }]);
  }
  noteStarted(started, batch);
}

function changed(
  { records, quotes, keys, after, started }: LoadedBatches,
  { account_id, input }: Command<BatchChange>,
  now: Date,
): Changed {
  const record = records.get(account_id, input.batch_id);
  const key = record && keys.get(account_id, record.user_id);
  const earlier = after.get(account_id, input.batch_id);
  if (!record || !key || earlier === null) throw Refusal.of([notFound("batch_id")]);
  const before = earlier ?? toBatch(record, key);
  const quote = before.quote_id ? quotes.get(account_id, before.quote_id) : undefined;
  const next = input.change(before, quote, now);
  if (next && input.action === "create") begin(started, next);
  const expires_at = new Date(now.getTime() + BATCH_LIFE_MS);
  const version = before.version + 1;
  const result = next && { ...next, version, updated_at: now, expires_at };
  after.set(account_id, input.batch_id, result);
  return { before, after: result, key };
}

function auditOf(command: Command<unknown>, { account_id, id }: Batch, action: BatchAction) {
  const record = `payout_batch:${id}`;
  const act = { account_id, actor: actorOf(command), record, reason: "" };
  return { ...act, action: `payout_batch.${action}` as const };
}

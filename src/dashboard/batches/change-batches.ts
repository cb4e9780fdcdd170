import { recordAudits } from "../../accounts/audit.ts";
import { actorOf } from "../../accounts/model.ts";
import type { Quote } from "../../offramps/quotes/model.ts";
import { findQuotes } from "../../offramps/quotes/store.ts";
import { AccountMap } from "../../platform/account-map.ts";
import type { Command, UseCase } from "../../platform/commands/use-case.ts";
import type { Keyring, SubjectKeys } from "../../platform/encryption/keyring.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { newId } from "../../platform/ids.ts";
import type { Kyc } from "../../users/model.ts";
import { findKycs, usersOf } from "../../users/store.ts";
import { BATCH_LIFE_MS, type Batch } from "./model.ts";
import {
  type BatchRecord,
  deleteBatch,
  insertBatch,
  lockBatches,
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
};
type Changed = { before: Batch; after: Batch | null; key: Buffer };

export function changeBatches(keyring: Keyring): UseCase<BatchChange, LoadedBatches, Changed> {
  return {
    name: "change-payout-batches",
    rows: () => 1,
    load: async (tx, commands) => {
      const records = await lockBatches(
        tx,
        commands.map(({ account_id, input }) => ({ account_id, id: input.batch_id })),
      );
      const quote_keys = records.flatMap(({ account_id, quote_id }) =>
        quote_id ? [{ account_id, id: quote_id }] : [],
      );
      const [keys, quotes] = await Promise.all([
        keyring.openUserKeys(tx, records),
        findQuotes(tx, quote_keys),
      ]);
      return {
        records: AccountMap.of(records, (record) => record),
        quotes: AccountMap.of(quotes, (quote) => quote),
        keys,
        after: new AccountMap(),
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

function changed(
  { records, quotes, keys, after }: LoadedBatches,
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

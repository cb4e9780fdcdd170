import { findActiveCredentials, type TokenPort } from "../../accounts/authenticate.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Database, Transaction } from "../../platform/db/database.ts";
import { notFound, Refusal } from "../../platform/errors.ts";
import { realTime } from "../../platform/tasks/real-time.ts";
import { actProblems, findPaying } from "../change-invoices.ts";
import { findChangeByKey } from "../change-store.ts";
import type { InvoiceUseCaseDeps } from "../create-invoices.ts";
import {
  type ChangeInput,
  type ChangeType,
  changeProblems,
  type KeyedInvoice,
  type PartyRole,
} from "../model.ts";
import type { ActedBy } from "../record-acts.ts";
import { changeInvoice, recordChanges } from "../record-changes.ts";
import { type InvoiceKey, lockInvoices, openInvoices } from "../store.ts";

type PartyDeps = InvoiceUseCaseDeps & { database: Database; tokens: TokenPort; clock: Clock };

type PartyAct = {
  name: ChangeType;
  input: ChangeInput | null;
  role: PartyRole;
  /** Null for a party without an account, who uses the invoice's link. */
  caller: { account_id: string; credential_id: string; by: ActedBy } | null;
  /** Distinguishes a repeated request from a new one. */
  change_key: Buffer | null;
};

/**
 * A change by a party that does not own the invoice. The owner's row is authoritative, so the
 * change is decided and written there, under that account alone; the acting account is notified by
 * the same task as of any change, which also writes into its audit log who acted. Its response is
 * stored in a transaction of its own: the change stores the request's key, so that a repetition in
 * between finds it applied.
 */
export async function changeAsParty(
  deps: PartyDeps,
  key: InvoiceKey,
  act: PartyAct,
  now: Date,
): Promise<KeyedInvoice> {
  return deps.database.transaction(async (tx) => {
    if (act.caller) await checkCredential(deps, tx, act.caller);
    const [row] = await lockInvoices(tx, [key]);
    const [entry] = await openInvoices(tx, deps.keyring, row ? [row] : []);
    if (!entry) throw Refusal.of([notFound("invoice_id")]);
    if (act.change_key && (await findChangeByKey(tx, key, act.change_key))) return entry;
    const paying = await findPaying(tx, [entry.invoice]);
    const problems = changeProblems(entry.invoice, act.name, act.role, paying.has(key.id));
    const { name, input, caller } = act;
    const change = { name, input, actor_account_id: caller?.account_id ?? null };
    if (problems.length === 0) problems.push(...actProblems(entry, change));
    if (problems.length > 0) throw Refusal.of(problems);
    const changed = changeInvoice(entry, change, now, act.change_key, caller?.by ?? null);
    recordChanges(tx, deps.renderer, [changed], now);
    return changed;
  });
}

/** A key or token that was just revoked must not act any more. */
async function checkCredential(
  { tokens, clock }: PartyDeps,
  tx: Transaction,
  {
    account_id,
    credential_id,
  }: Pick<NonNullable<PartyAct["caller"]>, "account_id" | "credential_id">,
): Promise<void> {
  const active = await findActiveCredentials(
    tx,
    tokens,
    [credential_id],
    [account_id],
    realTime(clock),
  );
  if (!active.has(credential_id)) throw new Refusal("unauthorized");
}

import { recordAudit } from "../../accounts/audit.ts";
import { findAccountById } from "../../accounts/store.ts";
import { listPendingRecords } from "../../approvals/pending-store.ts";
import { minorDigits } from "../../catalogue/currencies.ts";
import { reviewDocuments } from "../../offramps/documents/review-documents.ts";
import type { Offramp } from "../../offramps/model.ts";
import { findAccountOfOfframp, findOfframps, openOfframps } from "../../offramps/store.ts";
import { Refusal } from "../../platform/errors.ts";
import type { ModuleCore } from "../../platform/module.ts";
import { minorToText } from "../../platform/money.ts";
import { nameDetails, nameUsers } from "../names.ts";
import { type DocumentRow, findDocument, type Reviewer } from "./store.ts";

type Deps = Pick<ModuleCore, "database" | "clock" | "keyring">;

/** Whether the members of this account check documents; else only the operator's do. */
export async function isReviewer({ database }: Deps, reviewer: Reviewer): Promise<boolean> {
  if (reviewer.is_operator) return true;
  const account = await findAccountById(database, reviewer.account_id);
  return account?.document_review_by_account === true;
}

/** All that is needed to judge a document; those of erased users are left out. */
export async function describeDocuments(
  deps: Deps,
  reviewer: Reviewer,
  rows: readonly DocumentRow[],
) {
  const { database, keyring } = deps;
  const by_account = Map.groupBy(rows, ({ account_id }) => account_id);
  const [opened, proposed, names] = await Promise.all([
    openOfframps(database, keyring, [...rows]),
    listPendingRecords(database, reviewDocuments.name, [...rows]),
    Promise.all(
      [...by_account].map(async ([account_id, own]) => {
        const payers = own.map(({ user_id }) => user_id);
        const payees = own.map(({ payment_detail_id }) => payment_detail_id);
        return [
          await nameUsers(deps, account_id, payers),
          await nameDetails(deps, account_id, payees),
        ] as const;
      }),
    ),
  ]);
  const payers = Object.assign({}, ...names.map(([users]) => users));
  const payees = Object.assign({}, ...names.map(([, details]) => details));
  const row_of = new Map(rows.map((row) => [row.id, row]));
  return opened.map(({ offramp }) => ({
    ...toDocument(offramp),
    /** Of another account, whose documents the operator checks. */
    account_name:
      offramp.account_id === reviewer.account_id ? null : row_of.get(offramp.id)!.account_name,
    rejected_at: row_of.get(offramp.id)!.rejected_at,
    is_proposed: proposed.has(offramp.id),
    payer: payers[offramp.user_id]?.name ?? null,
    payee: payees[offramp.payment_detail_id] ?? null,
  }));
}

function toDocument(offramp: Offramp) {
  const { destination_amount, destination_currency: currency, details } = offramp;
  return {
    id: offramp.id,
    status: offramp.status,
    amount: minorToText(destination_amount, minorDigits(currency)!),
    currency,
    rails: offramp.rails,
    reference: details.reference ?? "",
    document_status: offramp.document_status,
    /** Null while there is no file. */
    document_type: offramp.document_file === null ? null : offramp.document_type,
    hash: offramp.document_hash?.toString("hex") ?? null,
    comment: details.document_comment ?? null,
    created_at: offramp.created_at,
  };
}

/** The account of an offramp whose document this reviewer may see: their own, or any. */
async function findOwner(deps: Deps, reviewer: Reviewer, id: string): Promise<string> {
  if (!reviewer.is_operator) return reviewer.account_id;
  return (await findAccountOfOfframp(deps.database, id)) ?? reviewer.account_id;
}

export async function loadDocument(deps: Deps, reviewer: Reviewer, id: string) {
  const account_id = await findOwner(deps, reviewer, id);
  const row = await findDocument(deps.database, { account_id, id });
  const [document] = row ? await describeDocuments(deps, reviewer, [row]) : [];
  return document;
}

/**
 * The file, if it is still the one with this hash: a reviewer must see what the approval names. The
 * audit log records who opened it.
 */
export async function openFile(
  deps: Deps,
  reviewer: Reviewer & { person_id: string },
  { id, hash }: { id: string; hash: string },
): Promise<{ offramp: Offramp; file: string; key: Buffer }> {
  const account_id = await findOwner(deps, reviewer, id);
  return deps.database.transaction(async (tx) => {
    const rows = await findOfframps(tx, [{ account_id, id }]);
    const [opened] = await openOfframps(tx, deps.keyring, rows);
    const file = opened?.offramp.document_file;
    if (!opened || !file) throw new Refusal("record_not_found");
    const { offramp, key } = opened;
    if (offramp.document_hash?.toString("hex") !== hash) {
      throw new Refusal("invalid_transition", "The document was replaced; load the page again.");
    }
    recordAudit(
      tx,
      {
        account_id,
        actor: `member:${reviewer.person_id}`,
        action: "document.read",
        record: `offramp:${offramp.id}`,
        reason: "",
        detail: { hash },
      },
      deps.clock.now(),
    );
    return { offramp, file, key };
  });
}

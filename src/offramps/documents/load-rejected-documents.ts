import { recordAudit } from "../../accounts/audit.ts";
import type { MemberSession } from "../../accounts/sign-in/sessions.ts";
import { findAccountById } from "../../accounts/store.ts";
import { listPendingRecords } from "../../approvals/pending-store.ts";
import { Refusal } from "../../platform/errors.ts";
import type { Page } from "../../platform/http/list.ts";
import type { ModuleCore } from "../../platform/module.ts";
import type { Offramp } from "../model.ts";
import { findAccountOfOfframp, findOfframps, openOfframps } from "../store.ts";
import { listRejectedOfframps } from "./rejected-document-store.ts";
import { reviewDocuments } from "./review-documents.ts";

type Deps = Pick<ModuleCore, "database" | "clock" | "keyring">;

export type RejectedDocumentView = {
  offramp: Offramp;
  /** Null when it was rejected because no file was received. */
  rejected_at: Date | null;
  /** Whether a proposal to approve it is open. */
  is_proposed: boolean;
};

export type RejectedDocumentsView = {
  /** Whether the members of this account review documents; else only the operator's do. */
  is_reviewer: boolean;
  documents: RejectedDocumentView[];
  /** Cursor for the next page. */
  last_id: string | null;
};

export async function loadRejectedDocuments(
  { database, keyring }: Deps,
  reviewer: Pick<MemberSession, "account_id" | "is_operator">,
  { below_id, limit }: Page,
): Promise<RejectedDocumentsView> {
  const [found, account] = await Promise.all([
    listRejectedOfframps(database, reviewer, below_id, limit + 1),
    findAccountById(database, reviewer.account_id),
  ]);
  const rows = found.slice(0, limit);
  const ids = rows.map((row) => row.id);
  const [opened, proposed] = await Promise.all([
    openOfframps(database, keyring, rows),
    listPendingRecords(database, reviewDocuments.name, rows),
  ]);
  const rejected_at = new Map(rows.map((row) => [row.id, row.rejected_at]));
  return {
    is_reviewer: reviewer.is_operator || account?.document_review_by_account === true,
    documents: opened.map(({ offramp }) => ({
      offramp,
      rejected_at: rejected_at.get(offramp.id) ?? null,
      is_proposed: proposed.has(offramp.id),
    })),
    last_id: found.length > limit ? (ids.at(-1) ?? null) : null,
  };
}

/** Own documents, and all for the operator's members; the audit log records the access. */
export function loadDocument(
  { database, keyring, clock }: Deps,
  { account_id: own_id, person_id, is_operator }: MemberSession,
  offramp_id: string,
): Promise<{ offramp: Offramp; file: string; key: Buffer }> {
  return database.transaction(async (tx) => {
    const owner_id = is_operator ? await findAccountOfOfframp(tx, offramp_id) : own_id;
    const account_id = owner_id ?? own_id;
    const rows = await findOfframps(tx, [{ account_id, id: offramp_id }]);
    const [opened] = await openOfframps(tx, keyring, rows);
    const file = opened?.offramp.document_file;
    if (!opened || !file) throw new Refusal("record_not_found");
    const { offramp, key } = opened;
    recordAudit(
      tx,
      {
        account_id,
        actor: `member:${person_id}`,
        action: "document.read",
        record: `offramp:${offramp.id}`,
        reason: "",
        detail: { hash: offramp.document_hash?.toString("hex") ?? null },
      },
      clock.now(),
    );
    return { offramp, file, key };
  });
}

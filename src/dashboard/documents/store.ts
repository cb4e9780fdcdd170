import { BEFORE_PAYOUT } from "../../offramps/model.ts";
import type { OfframpRow } from "../../offramps/store.ts";
import type { Session } from "../../platform/db/database.ts";

/** `to_check`: a payout waits for the check of its file. */
type DocumentState = "to_check" | "rejected";

/** An offramp with its document; `rejected_at` is null unless its file was rejected. */
export type DocumentRow = OfframpRow & { rejected_at: Date | null; account_name: string };

export type Reviewer = { account_id: string; is_operator: boolean };

const COLUMNS = `offramps.*, accounts.name as account_name, rejected.created_at as rejected_at`;
const REJECTED = `left join rejected_documents rejected
  on rejected.account_id = offramps.account_id and rejected.offramp_id = offramps.id
    and rejected.hash = offramps.document_hash`;

const NOT_BEGUN = BEFORE_PAYOUT.map((status) => `'${status}'`).join(", ");

/**
 * `offramps` in this state, of the `accounts` that $1 reviews; $2: all, as the operator. $3:
 * whether every document is checked before its payout.
 */
export function documentsIn(state: DocumentState): string {
  const of_accounts = `from accounts join offramps on offramps.account_id = accounts.id
    ${REJECTED} where ($2 or (accounts.id = $1 and accounts.document_review_by_account))`;
  return state === "rejected"
    ? `${of_accounts} and offramps.document_status = 'rejected' and $3::boolean is not null
         and offramps.status in (${NOT_BEGUN})`
    : `${of_accounts} and offramps.document_status = 'not_checked'
         and offramps.document_file is not null and offramps.status = 'ongoing_checks'
         and ($3 or offramps.document_after_approval)`;
}

/** Newest first. */
export function listDocuments(
  session: Session,
  reviewer: Reviewer,
  asked: { state: DocumentState; is_every_checked: boolean; below_id: string; limit: number },
): Promise<DocumentRow[]> {
  return session.query<DocumentRow>(
    `select ${COLUMNS} ${documentsIn(asked.state)} and offramps.id < $4
     order by offramps.id desc limit $5`,
    [
      ...[reviewer.account_id, reviewer.is_operator, asked.is_every_checked],
      ...[asked.below_id, asked.limit],
    ],
  );
}

/** With its document, if it has one. */
export async function findDocument(
  session: Session,
  key: { account_id: string; id: string },
): Promise<DocumentRow | undefined> {
  const [row] = await session.query<DocumentRow>(
    `select ${COLUMNS} from accounts join offramps on offramps.account_id = accounts.id ${REJECTED}
     where offramps.account_id = $1 and offramps.id = $2
       and offramps.document_status is not null`,
    [key.account_id, key.id],
  );
  return row;
}

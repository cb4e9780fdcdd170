import type { BeneficiaryType } from "../../catalogue/payment-detail-fields.ts";
import type { Session } from "../../platform/db/database.ts";
import type { KycStatus } from "../../users/model.ts";
import type { UserKey } from "../../users/store.ts";
import { PAST_DECISIONS } from "./decisions.ts";
import { DECIDE_KYC } from "./proposed-decision.ts";

/** A row of the queue, without personal data. */
type QueueRow = {
  account_id: string;
  account_name: string;
  user_id: string;
  beneficiary_type: BeneficiaryType;
  updated_at: Date;
  /** A first member has decided; a second one must confirm. */
  is_proposed: boolean;
};

/** Where a page of the queue ended. */
export type QueuePlace = { updated_at: Date; user_id: string };

/** What waits: the longest first. What was decided: the newest first. */
type QueueOrder = "oldest_first" | "newest_first";

/** Users in this state whom this account's members may review. */
export function listReviews(
  session: Session,
  reviewer: { account_id: string; is_operator: boolean },
  status: KycStatus,
  order: QueueOrder,
  after: QueuePlace | null,
  limit: number,
): Promise<QueueRow[]> {
  const [beyond, way] = order === "oldest_first" ? [">", "asc"] : ["<", "desc"];
  return session.query<QueueRow>(
    `select found.*, accounts.name as account_name,
       exists (select from proposals where proposals.account_id = found.account_id
         and proposals.record_id = found.user_id and proposals.kind = $7
         and proposals.status = 'pending' and proposals.created_at >= found.updated_at
       ) as is_proposed
     from accounts
     cross join lateral (
       select account_id, id as user_id, beneficiary_type, updated_at from users
       where users.account_id = accounts.id and kyc_status = $3 and erased_at is null
         and ($5::timestamptz is null or (updated_at, id) ${beyond} ($5, $6::uuid))
       order by updated_at ${way}, id ${way} limit $4) as found
     where $2 or (accounts.id = $1 and accounts.kyc_review_by_account)
     order by found.updated_at ${way}, found.user_id ${way} limit $4`,
    [
      reviewer.account_id,
      reviewer.is_operator,
      status,
      limit,
      after?.updated_at ?? null,
      after?.user_id ?? null,
      DECIDE_KYC,
    ],
  );
}

/** Changes when the user, a proposal on them or a reviewer's act does; absent: no such user. */
export async function findReviewVersion(
  session: Session,
  { account_id, user_id }: UserKey,
): Promise<string | undefined> {
  const [row] = await session.query<{ version: string }>(
    `select concat_ws(' ', users.sequence, extract(epoch from users.updated_at),
       (select concat_ws(' ', proposals.id, proposals.status) from proposals
        where proposals.account_id = $1 and proposals.record_id = $2 and proposals.kind = $3
        order by proposals.id desc limit 1),
       (select entries.id from audit_entries as entries
        where entries.account_id = $1 and entries.record = $4 and entries.action = any($5)
        order by entries.id desc limit 1)) as version
     from users where users.account_id = $1 and users.id = $2`,
    [account_id, user_id, DECIDE_KYC, `user:${user_id}`, [...PAST_DECISIONS.keys()]],
  );
  return row?.version;
}

/** The newest proposal on a user, whatever became of it. */
export async function findLastProposal(
  session: Session,
  { account_id, user_id }: UserKey,
): Promise<{ summary: string; status: string; outcome: string | null } | undefined> {
  const [row] = await session.query<{ summary: string; status: string; outcome: string | null }>(
    `select summary, status, outcome from proposals
     where account_id = $1 and record_id = $2 and kind = $3 order by id desc limit 1`,
    [account_id, user_id, DECIDE_KYC],
  );
  return row;
}
